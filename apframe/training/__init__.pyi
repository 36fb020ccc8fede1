"""The public names of `apframe.training`."""

from apframe.training.losses import fast_ap as fast_ap
from apframe.training.losses import quantized_ap as quantized_ap
from apframe.training.losses import smooth_ap as smooth_ap
from apframe.training.torch_losses import ap_loss as ap_loss
