"""PASCAL VOC: XML files and image sets."""
