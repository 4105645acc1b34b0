import StrataDocuments
import StrataModel

/// Checks the records of a datastore one by one: that each can be read, is in order, and occurs once.
struct RecordCheck {
  private let datastore: FolderDatastore
  private(set) var count = 0
  private(set) var findings: [FolderFinding] = []
  private var disordered = Sample()
  private var repeated = Sample()
  private var undecodable = Sample()
  private var longIdentifiers = Sample()

  init(_ datastore: FolderDatastore) { self.datastore = datastore }

  mutating func run() throws(FolderError) {
    let index = datastore.primaryIndex
    let entries = try index.source.get()
    var previous: [UInt8]?
    for row in entries.rows() {
      do throws(FolderError) {
        let entry = try index.entry(at: row, in: entries)
        check(entry, after: previous)
        previous = entry.key
        count += 1
      } catch {
        // Damage of a whole page was reported with the page.
        guard entries.page(row.page).damage == nil else { continue }
        findings.append(
          FolderFinding(
            .damage, .brokenEntry, file: error.file, datastore: datastore.descriptor.key, error.reason,
            remedy: FolderFinding.backup))
      }
    }
    summarise()
  }

  private mutating func check(_ entry: FolderEntry, after previous: [UInt8]?) {
    if let previous {
      if previous == entry.key {
        repeated.add(entry.identifier)
      } else if datastore.primaryIndex.identifiers.isKnown, !datastore.primaryIndex.identifiers.isDate,
        !previous.precedes(entry.key)
      {
        disordered.add(entry.identifier)
      }
    }
    if entry.longestHeader > Entry.readableHeaderLimit { longIdentifiers.add(entry.identifier) }
    let record = Record(entry, like: datastore.descriptor.coding)
    if (try? record.document()) == nil || record.coding == .opaque && datastore.descriptor.coding != .opaque {
      undecodable.add(entry.identifier)
    }
  }

  private mutating func summarise() {
    let key = datastore.descriptor.key
    if !repeated.isEmpty {
      findings.append(
        FolderFinding(.damage, .duplicateRecord, datastore: key, "identifiers that occur twice: \(repeated.text)"))
    }
    if !disordered.isEmpty {
      findings.append(
        FolderFinding(
          .damage, .disorder, datastore: key,
          "records that do not lie in the order of \(datastore.descriptor.identifierType): \(disordered.text); the original library does not find them",
          remedy: "convert the folder, which puts them in order"))
    }
    if !undecodable.isEmpty {
      findings.append(
        FolderFinding(
          .damage, .undecodableRecord, datastore: key,
          "records that are no \(datastore.descriptor.coding.rawValue): \(undecodable.text)",
          remedy: "an older commit may have them whole: look at their history"))
    }
    if !longIdentifiers.isEmpty {
      findings.append(Self.tooLong(longIdentifiers, datastore: key, index: nil))
    }
  }

  /// Q7.
  static func tooLong(_ records: Sample, datastore: String, index: String?) -> FolderFinding {
    FolderFinding(
      .warning, .stuckByLength, datastore: datastore, index: index,
      "values of more than \(Entry.readableHeaderLimit) bytes, which the original library writes and cannot read back: \(records.text); scans and later writes that meet them fail",
      remedy: "they can be read here; convert the folder, or shorten them with it")
  }
}

extension IndexAgreement {
  static let rebuilding = "convert the folder: the index is rebuilt at the app's first warm-up"

  func findings(of datastore: FolderDatastore) -> [FolderFinding] {
    let key = datastore.descriptor.key
    let name = index.name
    var findings: [FolderFinding] = []
    func add(_ severity: FolderFinding.Severity, _ kind: FolderFinding.Kind, _ message: String, _ remedy: String? = nil)
    {
      findings.append(FolderFinding(severity, kind, datastore: key, index: name, message, remedy: remedy))
    }
    let rebuild = Self.rebuilding
    for error in unreadable.prefix(3) where !error.reason.isEmpty {
      findings.append(
        FolderFinding(
          .damage, .brokenEntry, file: error.file, datastore: key, index: name, error.reason, remedy: rebuild))
    }
    if !dangling.isEmpty {
      add(.damage, .danglingEntry, "entries of records that are not there: \(dangling.text)", rebuild)
    }
    if !missing.isEmpty { add(.damage, .missingEntry, "records without an entry: \(missing.text)", rebuild) }
    if !repeated.isEmpty { add(.damage, .repeatedEntry, "records with more than one entry: \(repeated.text)", rebuild) }
    if !disordered.isEmpty {
      add(.damage, .disorder, "entries that do not lie in the order of \(index.valueType): \(disordered.text)", rebuild)
    }
    if !differingCopies.isEmpty {
      add(
        .damage, .differingCopy, "copies that differ from the record of the same version: \(differingCopies.text)",
        rebuild)
    }
    if !sharedValues.isEmpty {
      add(
        .note, .sharedValue,
        "records that share a value, though the index is \(index.kind.rawValue): \(sharedValues.text)")
    }
    if !longHeaders.isEmpty { findings.append(RecordCheck.tooLong(longHeaders, datastore: key, index: name)) }
    if !inexactDates.isEmpty {
      add(
        .warning, .stuckByDate,
        "records whose date has more digits than the index keeps: \(inexactDates.text); the original library can neither update nor delete them",
        rebuild + ", with exact dates, and the records can be changed again")
    }
    addValues(add, rebuild)
    return findings
  }

  private func addValues(
    _ add: (FolderFinding.Severity, FolderFinding.Kind, String, String?) -> Void, _ rebuild: String
  ) {
    switch source {
    case .unknown, .field: break
    case .fieldsByVersion(let paths):
      let each = paths.sorted { $0.key < $1.key }.map { "\($0.value) in those of version \($0.key)" }
      add(
        .warning, .stuckByMeaning,
        "its values are \(each.joined(separator: " and ")): where the app's property changed and the index was kept, the original library can neither update nor delete the older records",
        rebuild)
    case .contradicted(let path, let records):
      add(
        .warning, .contradictingEntry, "all other entries are what \(path) is, and these are not: \(records.text)",
        rebuild)
    case .incomplete(let path, let records):
      add(
        .warning, .missingEntry,
        "all entries are elements of \(path), and these records have elements without one: \(records.text)", rebuild)
    }
  }
}
