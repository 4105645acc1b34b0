import DatastoreModel
struct ExpressionError: Error, CustomStringConvertible { var description = "" }
struct Filter { init(parsing: String) throws {}; func matches(_ d: Document) -> Bool { true } }
