/// An index under verification.
struct IndexSubject {
  enum Source {
    case rule(IndexRule)
    case format
  }

  let index: any ReadableIndex
  let name: String
  var source: Source?
  var findings: [Finding] = []
  var entries = 0
  /// Values of records that have their entry.
  private(set) var foundValues = 0
  private var missing = 0
  private var strays = 0
  private var duplicates = 0

  init(_ index: any ReadableIndex) {
    self.index = index
    name = index.descriptor.name
  }

  /// The encoded values of a record; nil where they cannot be told.
  func values(of document: Document, _ given: [String: [[UInt8]]]?) -> [[UInt8]]? {
    switch source {
    case .rule(let rule): try? rule.encodedValues(of: document)
    case .format: given?[name] ?? []
    case nil: nil
    }
  }

  mutating func check(_ key: StoredKey, _ document: Document, _ given: [String: [[UInt8]]]?) throws(ModelError) {
    guard source != nil else { return }
    guard let values = values(of: document, given) else {
      return add(.wrong, key, "the record has no value that the index could hold", "mend the record")
    }
    for value in values {
      if try index.contains(value, of: key) {
        foundValues += 1
      } else {
        missing += 1
        if missing <= DatastoreVerifier.listLimit {
          add(.wrong, key, "the entry \(index.descriptor.shownValue(value)) is missing", "rebuild the index")
        }
      }
    }
  }

  mutating func stray(_ entry: IndexEntry, _ reason: String) {
    strays += 1
    if strays <= DatastoreVerifier.listLimit {
      add(.wrong, entry.identifier, "the entry \(entry.value) is too many: \(reason)", "rebuild the index")
    }
  }

  mutating func disorder(_ entry: IndexEntry) {
    add(.wrong, entry.identifier, "the entry \(entry.value) does not come after the one before it", "rebuild the index")
  }

  mutating func duplicate(_ owners: [IndexEntry], isEnforced: Bool, in datastore: String) {
    duplicates += 1
    guard duplicates <= DatastoreVerifier.listLimit, let first = owners.first else { return }
    let names = owners.prefix(4).map(\.identifier.description).joined(separator: ", ")
    findings.append(
      Finding(
        isEnforced ? .wrong : .note, datastore: datastore, index: name,
        "\(first.value) belongs to \(owners.count) records: \(names)\(owners.count > 4 ? ", …" : "")"))
  }

  func finished(in datastore: String) -> IndexVerification {
    var rule: String?
    if case .rule(let known)? = source { rule = known.text }
    var findings = findings.map { finding in
      var finding = finding
      finding.datastore = datastore
      return finding
    }
    for (count, name) in [(missing, "missing entries"), (strays, "entries too many")]
    where count > DatastoreVerifier.listLimit {
      findings.append(Finding(.wrong, datastore: datastore, index: self.name, "\(count) \(name) in all"))
    }
    return IndexVerification(
      name: name, entries: entries, strays: strays, missing: missing, rule: rule, findings: findings)
  }

  private mutating func add(_ severity: Finding.Severity, _ record: StoredKey, _ text: String, _ advice: String?) {
    findings.append(Finding(severity, datastore: "", index: name, record: record, text, advice: advice))
  }
}
