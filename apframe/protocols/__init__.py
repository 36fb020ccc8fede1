"""Published protocols, each a frozen value and a name of `apframe`, such as `apf.COCO`. `apf.list_protocols()` lists them."""
