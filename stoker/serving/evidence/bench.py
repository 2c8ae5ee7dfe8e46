"""How SGLang's own bench_serving is run, sized for one server."""

from dataclasses import dataclass

from stoker.serving.evidence.burst import BASE_S, MOST_S, SLOW_TOKENS_PER_S, Limits

AT_ONCE, MOST_AT_ONCE = 64, 256
"""Requests at once where no limit is said, and at most."""
ROUNDS = 2
INPUT, OUTPUT = 512, 128
"""Tokens of a request, where the context has room."""
IMPORTS_S = 120
"""It imports torch and SGLang first: 39 s on two cores."""


@dataclass(frozen=True)
class Bench:
    """Requests of one length, so many at once until all are answered."""

    prompts: int
    input_tokens: int
    output_tokens: int
    at_once: int

    @property
    def time_limit_s(self) -> int:
        """When it is given up."""
        tokens = self.prompts * (self.input_tokens + self.output_tokens)
        return min(MOST_S, BASE_S + IMPORTS_S + tokens // SLOW_TOKENS_PER_S)

    @property
    def told(self) -> str:
        """For the record: two of the same words can be compared."""
        return (
            f"bench_serving, random-ids, {self.prompts} prompts of {self.input_tokens} tokens, "
            f"each for {self.output_tokens} more, {self.at_once} at once"
        )

    def words(self, model: str, tokenizer: str | None, seed: int) -> tuple[str, ...]:
        """Its options. Tokens are sent as they are: as text they would not be the same number.

        `seed`: another one each time, or the prompts of the last run would still be cached.
        """
        # Its data set needs no download.
        options = {
            "model": model,
            **({"tokenizer": tokenizer} if tokenizer else {}),
            "dataset-name": "random-ids",
            "random-input-len": self.input_tokens,
            "random-output-len": self.output_tokens,
            "random-range-ratio": 1,
            "num-prompts": self.prompts,
            "max-concurrency": self.at_once,
            "seed": seed,
        }
        pairs = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return (*pairs, "--tokenize-prompt", "--disable-tqdm")


def bench(limits: Limits) -> Bench:
    """The run for these limits."""
    at_once = min(limits.running or AT_ONCE, MOST_AT_ONCE)
    room = limits.context or 8 * INPUT
    room = min(room, limits.pool) if limits.pool else room
    tokens = (max(1, min(INPUT, room // 4)), max(1, min(OUTPUT, room // 16)))
    return Bench(max(16, ROUNDS * at_once), *tokens, at_once)
