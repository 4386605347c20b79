"""The topics of Reuters-21578 as a taxonomy: 135 official codes and 7 added group nodes.

Level 1 follows the category types of the collection (economic indicators, corporate, commodity,
energy); currency codes nearly always come with ``money-fx``, so ``money`` holds it, with the
currencies below, and ``interest``; ``ship`` stands alone. ``grain``, ``oilseed``, ``veg-oil``,
``meal-feed``, ``livestock`` and ``money-fx`` are codes and parents at once. Added, no codes:
``economic``, ``money``, ``corporate``, ``commodity``, ``energy``, ``metal``, ``oil-product``.
"""

from __future__ import annotations

from hbgl.taxonomy import Taxonomy

__all__ = ["GROUPS", "topic_taxonomy"]

GROUPS = ("economic", "money", "corporate", "commodity", "energy", "metal", "oil-product")

_CHILDREN = {
    "economic": "bop trade cpi wpi jobs ipi cpu gnp money-supply reserves lei housing income "
    "inventories instal-debt retail",
    "money": "money-fx interest",
    "corporate": "acq earn",
    "commodity": "grain oilseed veg-oil meal-feed livestock metal cocoa coffee cotton lumber lupin "
    "orange plywood potato red-bean rubber silk sugar tapioca tea wool",
    "energy": "crude nat-gas pet-chem oil-product",
    "money-fx": "dlr austdlr hk singdlr nzdlr can stg dmk yen sfr ffr bfr dfl lit dkr nkr skr "
    "mexpeso cruzado austral saudriyal rand rupiah ringgit escudo peseta drachma",
    "grain": "barley corn oat rice rye sorghum wheat",
    "oilseed": "castorseed coconut cottonseed flaxseed groundnut linseed palmkernel rapeseed "
    "soybean sunseed tung",
    "veg-oil": "castor-oil coconut-oil corn-oil cotton-oil groundnut-oil lin-oil palm-oil rape-oil "
    "soy-oil sun-oil tung-oil",
    "meal-feed": "castor-meal citruspulp copra-cake cornglutenfeed cotton-meal fishmeal "
    "groundnut-meal lin-meal palm-meal rape-meal soy-meal sun-meal",
    "livestock": "carcass f-cattle hog l-cattle pork-belly",
    "metal": "alum copper gold iron-steel lead nickel palladium platinum silver strategic-metal "
    "tin zinc",
    "oil-product": "fuel gas heat jet naphtha propane",
}

# Words for the codes that are abbreviations; the others are their own words.
_WORDS = {
    "economic": "economic indicators",
    "money": "money and currency",
    "corporate": "corporate news",
    "commodity": "commodities",
    "ship": "shipping",
    "bop": "balance of payments",
    "cpi": "consumer price index",
    "wpi": "wholesale price index",
    "jobs": "unemployment",
    "ipi": "industrial production index",
    "cpu": "capacity utilization",
    "gnp": "gross national / domestic product",
    "lei": "leading economic indicators",
    "housing": "housing starts",
    "income": "personal income",
    "instal-debt": "instalment debt / consumer credit",
    "retail": "retail sales",
    "money-fx": "money / foreign exchange",
    "interest": "interest rates",
    "acq": "mergers / acquisitions",
    "earn": "earnings and earnings forecasts",
    "dlr": "U.S. dollar",
    "austdlr": "Australian dollar",
    "hk": "Hong Kong dollar",
    "singdlr": "Singapore dollar",
    "nzdlr": "New Zealand dollar",
    "can": "Canadian dollar",
    "stg": "sterling",
    "dmk": "D-mark",
    "yen": "Japanese yen",
    "sfr": "Swiss franc",
    "ffr": "French franc",
    "bfr": "Belgian franc",
    "dfl": "Dutch guilder",
    "lit": "Italian lira",
    "dkr": "Danish krone",
    "nkr": "Norwegian krone",
    "skr": "Swedish krona",
    "mexpeso": "Mexican peso",
    "cruzado": "Brazilian cruzado",
    "austral": "Argentine austral",
    "saudriyal": "Saudi riyal",
    "rand": "South African rand",
    "rupiah": "Indonesian rupiah",
    "ringgit": "Malaysian ringgit",
    "escudo": "Portuguese escudo",
    "peseta": "Spanish peseta",
    "drachma": "Greek drachma",
    "veg-oil": "vegetable oil",
    "meal-feed": "meal and feed",
    "metal": "metals",
    "orange": "orange juice and oranges",
    "oat": "oats",
    "potato": "potatoes",
    "red-bean": "red beans",
    "lupin": "lupins",
    "castorseed": "castor seed",
    "castor-meal": "castor meal",
    "citruspulp": "citrus pulp pellets",
    "copra-cake": "copra cake",
    "cornglutenfeed": "corn gluten feed",
    "cotton-meal": "cottonseed meal",
    "cotton-oil": "cottonseed oil",
    "fishmeal": "fish meal",
    "groundnut": "groundnuts",
    "lin-meal": "linseed meal",
    "lin-oil": "linseed oil",
    "palmkernel": "palm kernel",
    "palm-meal": "palm kernel meal",
    "rape-meal": "rapeseed meal",
    "rape-oil": "rapeseed oil",
    "sunseed": "sunflower seed",
    "sun-meal": "sunflower meal",
    "sun-oil": "sunflower oil",
    "soy-oil": "soybean oil",
    "soy-meal": "soybean meal",
    "tung": "tung nuts",
    "carcass": "carcass meat",
    "f-cattle": "feeder cattle",
    "hog": "hogs",
    "l-cattle": "live cattle",
    "pork-belly": "pork bellies",
    "alum": "aluminium",
    "iron-steel": "iron and steel",
    "strategic-metal": "strategic metals",
    "crude": "crude oil",
    "nat-gas": "natural gas",
    "pet-chem": "petrochemicals",
    "oil-product": "refined oil products",
    "fuel": "fuel oil",
    "gas": "gasoline",
    "heat": "heating oil / gas oil",
    "jet": "jet and kerosene",
}


def topic_taxonomy() -> Taxonomy:
    """Return the taxonomy of all 135 topics and 7 groups."""
    edges = [
        (parent, child) for parent, children in _CHILDREN.items() for child in children.split()
    ]
    top = ("economic", "money", "corporate", "commodity", "energy", "ship")
    return Taxonomy.from_edges(edges, labels=top, names=_WORDS)
