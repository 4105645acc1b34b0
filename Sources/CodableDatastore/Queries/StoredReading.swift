import StrataDocuments
import StrataEngine
import StrataFoundation
import StrataLocks

/// When the texts of records begin to be asked, and which of them are compared with their instances.
struct StoredPace {
  /// Whether the records that come may tell more than those before.
  var mayBegin: Bool
  private var count: Int
  /// Records since the texts tell.
  private var toldCount = 0

  /// Few records are decoded sooner than a test of texts is made.
  private static var worthwhile: Int { 16 }
  /// How many instances are compared at the beginning, and of how many records one is compared then.
  private static var compared: (first: Int, oneOf: Int) { (16, 64) }

  /// - Parameter expectsMany: Whether there are many records to come.
  init(mayBegin: Bool, expectsMany: Bool) {
    self.mayBegin = mayBegin
    count = expectsMany ? Self.worthwhile - 1 : 0
  }

  mutating func begins() -> Bool {
    guard mayBegin else { return false }
    count += 1
    return count >= Self.worthwhile && count & (count - 1) == 0
  }

  mutating func compares() -> Bool {
    toldCount += 1
    return toldCount <= Self.compared.first || toldCount.isMultiple(of: Self.compared.oneOf)
  }
}

/// Asks the texts of records whether these meet the conditions of a query, and compares some texts with their instances.
struct StoredReading<Instance> {
  private let predicates: [Predicate<Instance>]
  private var test: StoredTest<Instance>?
  private var pace: StoredPace

  /// - Parameter expectsMany: Whether there are many records to come.
  init(_ predicates: [Predicate<Instance>], expectsMany: Bool = false) {
    self.predicates = predicates
    pace = StoredPace(mayBegin: !predicates.isEmpty, expectsMany: expectsMany)
  }

  var isUsed: Bool { test != nil }

  /// Whether a record meets the conditions; nil if it is to be decoded.
  mutating func meetsConditions<Format: DatastoreFormat>(
    _ record: Bytes, of core: DatastoreCore<Format>
  ) -> Bool? where Format.Instance == Instance {
    if test == nil {
      guard pace.begins() else { return nil }
      test = core.stored(by: record, &pace.mayBegin) {
        StoredTest(predicates, layout: $0, without: $1, behind: core.coder.head)
      }
    }
    let holds = test?.text.holds(for: record)
    return pace.compares() ? nil : holds
  }

  /// Whether the text that was asked last tells otherwise than its instance. Then no text is asked for that property any more.
  mutating func differs<Format: DatastoreFormat>(
    _ instance: Instance, from record: Bytes, of core: DatastoreCore<Format>
  ) -> Bool where Format.Instance == Instance {
    guard test != nil, let path = core.coder.withText(of: record, { test?.difference(of: $0, from: instance) }) else {
      return false
    }
    core.stored.withLock { _ = $0.off.insert(path) }
    return true
  }
}

struct StoredKnowledge: Sendable {
  /// By the first record that was looked at; nil before.
  var layout: StoredLayout?
  /// The members of which an `init(from:)` makes something else.
  var off: Set<DocumentPath> = []
}

extension DatastoreCore {
  /// Makes what asks the stored texts; nil if the format forbids that, if another decoder than the library's own reads the records, and if
  /// a record does not tell the places of the properties.
  ///
  /// - Parameters:
  ///   - mayBegin: Whether another record may tell them.
  ///   - make: Is given the places, and the members of which an `init(from:)` makes something else.
  func stored<Made>(
    by record: Bytes, _ mayBegin: inout Bool, _ make: (StoredLayout, Set<DocumentPath>) -> Made?
  ) -> Made? {
    mayBegin = false
    guard Format.testsStoredText, coder.hasStandardText else { return nil }
    var (layout, off) = stored.withLock { ($0.layout, $0.off) }
    if layout == nil {
      layout = coder.layout(of: record)
      stored.withLock { [layout] in $0.layout = layout }
    }
    mayBegin = layout == nil
    return layout.flatMap { make($0, off) }
  }

  /// The members that predicates look at and an `init(from:)` makes something else of.
  func changedMembers(in predicates: [Predicate<Instance>]) -> [String] {
    let (layout, off) = stored.withLock { ($0.layout, $0.off) }
    guard let layout, !off.isEmpty else { return [] }
    let members = Set(StoredTest.sources(of: predicates, in: layout).map(\.source.path))
    return members.intersection(off).map(\.shortText).sorted()
  }
}

/// An `init(from:)` changes stored values, so that a text left an instance out of an answer, or gave another value than the instance.
struct DecodedOtherwise: LocalizedError {
  let datastore: String

  var errorDescription: String? {
    """
    An instance of \(datastore) has another value than its record, and an answer was wrong or lacked instances. Ask again: now the \
    query decodes each record.
    """
  }
}
