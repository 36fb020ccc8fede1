"""CityPersons, Caltech and EuroCity Persons."""
