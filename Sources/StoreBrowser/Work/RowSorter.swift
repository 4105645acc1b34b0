import DatastoreModel

/// What rows are sorted by: missing, null, false, true, numbers, dates, texts, the rest.
struct SortKey: Sendable, Comparable {
  private enum Value: Sendable { case none, null, bool(Bool), number(Double), date(Double), text(String) }
  private let value: Value

  init(_ document: Document?) {
    switch document {
    case nil: value = .none
    case .null: value = .null
    case .bool(let flag): value = .bool(flag)
    case .number(let number): value = .number(number.double)
    case .date(let seconds): value = .date(seconds)
    case .string(let text): value = .text(String(text.prefix(ValueText.limit)))
    case .some(let other): value = .text(ValueText(literal: other).text)
    }
  }

  private var place: Int {
    switch value {
    case .none: 0
    case .null: 1
    case .bool: 2
    case .number: 3
    case .date: 4
    case .text: 5
    }
  }

  static func < (left: Self, right: Self) -> Bool {
    switch (left.value, right.value) {
    case (.bool(let left), .bool(let right)): !left && right
    case (.number(let left), .number(let right)), (.date(let left), .date(let right)): left < right
    case (.text(let left), .text(let right)): left < right
    default: left.place < right.place
    }
  }

  static func == (left: Self, right: Self) -> Bool { !(left < right) && !(right < left) }

  /// About the bytes that it keeps.
  var byteCount: Int {
    if case .text(let text) = value { return 32 + text.utf8.count }
    return 32
  }
}

/// Sorts rows by key, holding key and rank only. Ties keep the order in which rows came.
struct RowSorter {
  /// Above so many bytes a sorted run goes to a temporary file.
  static let memoryLimit = 64 << 20

  private let isDescending: Bool
  private let files: BrowserFiles
  private var run: [(key: SortKey, rank: Int, place: Int)] = []
  private var bytes = 0

  init(isDescending: Bool, files: BrowserFiles) {
    self.isDescending = isDescending
    self.files = files
  }

  mutating func add(_ key: SortKey, rank: Int) throws(ModelError) {
    run.append((key, rank, run.count))
    bytes += key.byteCount + 24
  }

  consuming func sorted(goOn: () throws(ModelError) -> Void) throws(ModelError) -> [Int] {
    try goOn()
    if isDescending {
      run.sort { $1.key < $0.key || (!($0.key < $1.key) && $0.place < $1.place) }
    } else {
      run.sort { $0.key < $1.key || (!($1.key < $0.key) && $0.place < $1.place) }
    }
    try goOn()
    return run.map(\.rank)
  }
}
