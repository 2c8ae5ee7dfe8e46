import random

from stoker.pct.agent import frames


def test_frames_come_out_whole_however_their_bytes_are_cut() -> None:
    sent = [(frames.OUT, n, bytes([n]) * (n * 37)) for n in range(50)]
    stream = b"".join(frames.pack(*frame) for frame in sent)
    for seed in range(20):
        dice, decoder, got, rest = random.Random(seed), frames.Decoder(), [], stream
        while rest:
            cut = dice.randint(1, 300)
            got += decoder.feed(rest[:cut])
            rest = rest[cut:]
        assert got == sent
