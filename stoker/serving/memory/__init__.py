"""GPU and host memory before a start: SGLang's own sums, with the figures of the case."""

from stoker.serving.memory.checks import check as check
from stoker.serving.memory.checks import host_gb as host_gb
from stoker.serving.memory.prediction import Prediction as Prediction
from stoker.serving.memory.prediction import predict as predict
