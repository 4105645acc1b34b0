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
  /// Why the field with the best name does not tell all documents apart, with the first place; nil if `path` is not.
  package let refusal: String?

  /// A field that may be the identifier.
  private struct Candidate {
    let field: String
    let rank: Int
    let isSpelt: Bool
    var values: Set<UInt64> = []
    /// How many documents have no value.
    var missing: Int
    /// The first document without a value, or with the value of an earlier one.
    var fault: String?
    var isRepeated = false

    mutating func see(_ value: Document?, at place: SourcePlace) {
      if isRepeated { return }
      guard let hash = value.flatMap({ IdentifierChoice.hash($0, isSpelt) }) else {
        missing += 1
        fault = fault ?? "\(place) has none"
        return
      }
      guard !values.insert(hash).inserted else { return }
      fault = fault ?? "\(place) has that of an earlier one"
      (values, isRepeated) = ([], true)
    }
  }

  /// - Parameters:
  ///   - name: of the file or the datastore, without its ending.
  ///   - isLenient: whether single documents may be refused: then a unique field whose name only ends in `id` will do, and one of a good
  ///     name that a document, or less than half of them, has not.
  package init(_ source: inout TableSource, name: String, isLenient: Bool = false) throws(ModelError) {
    try source.rewind()
    // Such cells are texts in an identifier: `1.1` and `1.10` are two.
    let spelt = Set(source.columns.filter(\.hasOddDecimal).map(\.path))
    var candidates: [Candidate] = []
    var names: Set<String> = []
    var isKeyed = false
    var (count, first): (Int, SourcePlace?) = (0, nil)
    while let row = try source.next() {
      guard case .document(.object(let members)) = row.content else { continue }
      isKeyed = isKeyed || row.key != nil
      for member in members where names.insert(member.name).inserted {
        guard let rank = Self.rank(member.name, name, isLenient) else { continue }
        candidates.append(
          Candidate(
            field: member.name, rank: rank, isSpelt: spelt.contains(DocumentPath([.member(member.name)])),
            missing: count, fault: first.map { "\($0) has none" }))
      }
      (count, first) = (count + 1, first ?? row.place)
      for index in candidates.indices {
        let field = candidates[index].field
        candidates[index].see(members.last { $0.name == field }?.value, at: row.place)
      }
    }
    try source.rewind()
    self.isKeyed = isKeyed
    hasDocuments = count > 0
    candidates.sort { ($0.rank, $0.field.count, $0.field) < ($1.rank, $1.field.count, $1.field) }
    let found =
      candidates.first { $0.fault == nil }
      ?? candidates.first {
        isLenient && $0.rank <= 2 && !$0.isRepeated && ($0.missing == 1 || $0.missing * 2 < count)
      }
    path = isKeyed ? nil : found.map { DocumentPath([.member($0.field)]) }
    let refused = isKeyed || found != nil ? nil : candidates.first
    refusal = refused.map { "\($0.field) does not tell the documents apart: \($0.fault ?? "")" }
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
