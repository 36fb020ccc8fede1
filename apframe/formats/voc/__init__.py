"""PASCAL VOC's XML and lists."""
