import StrataDocuments
import StrataModel

/// Checks the records of a datastore one by one: that each can be read, is in order, and occurs once.
struct RecordCheck {
  private let datastore: FolderDatastore
  private(set) var count = 0
  private(set) var findings: [FolderFinding] = []
  private var faults: Faults

  init(_ datastore: FolderDatastore) {
    self.datastore = datastore
    faults = Faults(datastore: datastore.descriptor.key)
  }

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
        findings.append(FolderFinding(error, .brokenEntry, datastore: datastore.descriptor.key))
      }
    }
    summarise()
  }

  private mutating func check(_ entry: FolderEntry, after previous: [UInt8]?) {
    if let previous {
      if previous == entry.key {
        faults.add(.duplicateRecord, entry.identifier)
      } else if datastore.primaryIndex.identifiers.isKnown, !datastore.primaryIndex.identifiers.isDate,
        !previous.precedes(entry.key)
      {
        faults.add(.disorder, entry.identifier)
      }
    }
    if entry.longestHeader > Entry.readableHeaderLimit { faults.add(.stuckByLength, entry.identifier) }
    let record = Record(entry, like: datastore.descriptor.coding)
    if (try? record.document()) == nil || record.coding == .opaque && datastore.descriptor.coding != .opaque {
      faults.add(.undecodableRecord, entry.identifier)
    }
  }

  private mutating func summarise() {
    let descriptor = datastore.descriptor
    let found = [
      faults.finding(.damage, .duplicateRecord, "identifiers that occur twice"),
      faults.finding(
        .damage, .disorder, "records that do not lie in the order of \(descriptor.identifierType)",
        "; the original library does not find them", remedy: "convert the folder, which puts them in order"),
      faults.finding(
        .damage, .undecodableRecord, "records that are not valid \(descriptor.coding.rawValue)",
        remedy: "an older commit may have them whole: look at their history"),
      faults.tooLong,
    ]
    findings += found.compactMap { $0 }
  }
}

/// The records of a datastore, or of the entries of an index, that are wrong, by fault.
struct Faults: Sendable {
  let datastore: String
  var index: String?
  var samples: [FolderFinding.Kind: Sample] = [:]

  mutating func add(_ kind: FolderFinding.Kind, _ identifier: StoredKey) {
    samples[kind, default: Sample()].add(identifier)
  }

  func count(_ kind: FolderFinding.Kind) -> Int { samples[kind]?.count ?? 0 }

  /// The finding of a fault, with a sample between the two parts of the text; nil if nothing has the fault.
  func finding(
    _ severity: FolderFinding.Severity, _ kind: FolderFinding.Kind, _ lead: String, _ end: String = "",
    remedy: String? = nil
  ) -> FolderFinding? {
    guard let sample = samples[kind] else { return nil }
    return FolderFinding(
      severity, kind, datastore: datastore, index: index, "\(lead): \(sample.text)\(end)", remedy: remedy)
  }

  /// Q7.
  var tooLong: FolderFinding? {
    finding(
      .warning, .stuckByLength,
      "values of more than \(Entry.readableHeaderLimit) bytes, which the original library writes and cannot read back",
      "; scans and later writes that meet them fail",
      remedy: "they can be read here; convert the folder, or shorten them with it")
  }
}

extension FolderFinding.Kind {
  /// Whether an index with such entries is not to be trusted.
  var isDisagreement: Bool {
    switch self {
    case .danglingEntry, .missingEntry, .repeatedEntry, .disorder, .differingCopy, .stuckByMeaning, .contradictingEntry:
      true
    default: false
    }
  }
}

extension IndexAgreement {
  static let rebuilding = "convert the folder: the index is rebuilt at the app's first warm-up"

  var findings: [FolderFinding] {
    let rebuild = Self.rebuilding
    let found = [
      faults.finding(.damage, .danglingEntry, "entries of records that are not there", remedy: rebuild),
      faults.finding(.damage, .missingEntry, "records without an entry", remedy: rebuild),
      faults.finding(.damage, .repeatedEntry, "records with more than one entry", remedy: rebuild),
      faults.finding(.damage, .disorder, "entries that do not lie in the order of \(index.valueType)", remedy: rebuild),
      faults.finding(
        .damage, .differingCopy, "copies that differ from the record of the same version", remedy: rebuild),
      faults.finding(.note, .sharedValue, "records that share a value, though the index is \(index.kind.rawValue)"),
      faults.tooLong,
      faults.finding(
        .warning, .stuckByDate, "records whose date has more digits than the index keeps",
        "; the original library can neither update nor delete them",
        remedy: rebuild + ", with exact dates, and the records can be changed again"),
      valueFinding,
    ]
    let broken = unreadable.prefix(3).filter { !$0.reason.isEmpty }.map { error in
      FolderFinding(error, .brokenEntry, datastore: faults.datastore, index: index.name, remedy: rebuild)
    }
    return broken + found.compactMap { $0 }
  }

  private var valueFinding: FolderFinding? {
    let kind: FolderFinding.Kind
    let message: String
    switch source {
    case .unknown, .field: return nil
    case .fieldsByVersion(let paths):
      let each = paths.sorted { $0.key < $1.key }.map { "\($0.value) in those of version \($0.key)" }
      kind = .stuckByMeaning
      message =
        "its values are \(each.joined(separator: " and ")): where the app's property changed and the index was kept, the original library can neither update nor delete the older records"
    case .contradicted(let path, let records):
      kind = .contradictingEntry
      message = "all other entries are what \(path) is, and these are not: \(records.text)"
    case .incomplete(let path, let records):
      kind = .missingEntry
      message = "all entries are elements of \(path), and these records have elements without one: \(records.text)"
    }
    return FolderFinding(
      .warning, kind, datastore: faults.datastore, index: index.name, message, remedy: Self.rebuilding)
  }
}
