"""The public names of `apframe.protocols`, together with the protocols of benchmarks."""

from apframe.metrics.definitions import as_definition as as_definition
from apframe.metrics.points import Definition as Definition
from apframe.protocols.coco import COCO as COCO
from apframe.protocols.headlines import Part as Part
from apframe.protocols.lvis import LVIS as LVIS
from apframe.protocols.open_images import OPEN_IMAGES as OPEN_IMAGES
from apframe.protocols.open_images import OPEN_IMAGES_CHALLENGE as OPEN_IMAGES_CHALLENGE
from apframe.protocols.proposals import PROPOSALS as PROPOSALS
from apframe.protocols.protocol import Protocol as Protocol
from apframe.protocols.published import PUBLISHED as PUBLISHED
from apframe.protocols.voc import VOC2007 as VOC2007
from apframe.protocols.voc import VOC2012 as VOC2012
from apframe.static_names import *  # noqa: F403
