"""The pages of a small shop, for indexes that are made in a test."""

PAGES = {
    "Returns": "Boots may be sent back within 30 days if they were not worn outside. We refund the price in five days.",
    "Shipping": "Parcels leave our warehouse at noon. Delivery to islands takes two days longer and costs 9 euros.",
    "Resoling": "Our cobbler glues a new rubber sole on any model with a stitched welt for 65 euros.",
    "Sizes": "Measure the foot in the evening and add 8 millimetres. Half sizes exist from 37 to 44.",
    "Waxing": "Rub beeswax into dry leather with a cloth, wait an hour, and brush it until it shines.",
    "Vouchers": "A gift voucher is valid for three years and can be spent in several orders.",
    "Guarantee": "Seams and eyelets are guaranteed for two years. Worn laces and insoles are not.",
    "Wholesale": "Dealers order twelve pairs or more and pay within 45 days after the invoice.",
    "Newsletter": "The newsletter comes on the first Monday of the month; a link at its foot ends it.",
    "Workshop": "In the workshop in Porto visitors see how a last is carved. Tours begin at 15:00.",
}
