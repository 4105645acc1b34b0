package import StrataDocuments

/// Finds the field that tells the documents of a file apart: a unique one called `id`, `_id`, `uuid`, `guid`, `key`, `code`,
/// `identifier`, or after the file.
package struct IdentifierChoice {
  /// Nil if no field does.
  package let path: DocumentPath?
  /// Names that are free for the number of a row, and for the key that a document stands under, the best first.
  let rowName: String
  package let keyName: String
  /// Whether the documents stand under keys.
  package let isKeyed: Bool
  /// Whether there is a document that could be read.
  package let hasDocuments: Bool
  /// The field with the best name, if it does not tell all documents apart; nil if `path` is not.
  package let refused: String?

  /// - Parameters:
  ///   - name: of the file or the datastore, without its ending.
  ///   - isLenient: whether a unique field whose name only ends in `id` will do.
  package init(_ source: inout TableSource, name: String, isLenient: Bool = false) throws(ModelError) {
    try source.rewind()
    // Such cells are texts in an identifier: `1.1` and `1.10` are two.
    let spelt = Set(source.columns.filter(\.hasOddDecimal).map(\.path))
    var candidates: [String: Set<UInt64>]?
    var refused: [String] = []
    var names: Set<String> = []
    var isKeyed = false
    while let row = try source.next() {
      guard case .document(.object(let members)) = row.content else { continue }
      isKeyed = isKeyed || row.key != nil
      for member in members { names.insert(member.name) }
      if candidates == nil {
        candidates = [:]
        for member in members where Self.rank(member.name, name, isLenient) != nil { candidates?[member.name] = [] }
      }
      for name in candidates.map({ Array($0.keys) }) ?? [] {
        let value = members.last { $0.name == name }?.value
        let isSpelt = spelt.contains(DocumentPath([.member(name)]))
        if let hash = value.flatMap({ Self.hash($0, isSpelt) }), candidates?[name]?.insert(hash).inserted == true {
          continue
        }
        candidates?[name] = nil
        refused.append(name)
      }
    }
    try source.rewind()
    self.isKeyed = isKeyed
    hasDocuments = candidates != nil
    func best(_ fields: [String]) -> String? {
      fields.min { first, second in
        (Self.rank(first, name, isLenient) ?? 9, first.count, first)
          < (Self.rank(second, name, isLenient) ?? 9, second.count, second)
      }
    }
    path = isKeyed ? nil : best(Array((candidates ?? [:]).keys)).map { DocumentPath([.member($0)]) }
    self.refused = path == nil ? best(refused) : nil
    func free(_ wanted: [String]) -> String { wanted.first { !names.contains($0) } ?? "strata_\(wanted[0])" }
    rowName = free(["row", "row_number", "_row"])
    keyName = free(["id", "key", "identifier"])
  }

  /// How well a name fits; nil if it does not.
  private static func rank(_ field: String, _ name: String, _ isLenient: Bool) -> Int? {
    let field = field.lowercased()
    var owners = [name.lowercased()]
    // The rows of `cities` and `customers` are each a city and a customer.
    if owners[0].hasSuffix("s") { owners.append(String(owners[0].dropLast())) }
    if owners[0].hasSuffix("ies") { owners.append(owners[0].dropLast(3) + "y") }
    switch field {
    case "id", "_id": return 0
    case "identifier", "uuid", "guid", "key": return 1
    case _ where owners.contains { field == $0 + "_id" || field == $0 + "id" }: return 2
    case "code": return 3
    case _ where isLenient && field.hasSuffix("id"): return 4
    default: return nil
    }
  }

  private static func hash(_ value: Document, _ isSpelt: Bool) -> UInt64? {
    switch value {
    case .number(let number): ValueHash.text(of: isSpelt ? number.text : number.canonicalText)
    case .string(let text): text.isEmpty ? nil : ValueHash.text(of: text, seed: 1)
    default: nil
    }
  }
}
