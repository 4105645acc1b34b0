import Documents

/// What has been met in one field so far. Used by one thread.
final class FieldStatistics {
  /// The numbers that are kept for quartiles; beyond, they are a random sample.
  static let keptLimit = 1 << 20

  let name: String
  private let isRoot: Bool
  private var children: [FieldStatistics] = []
  private var kinds = [Int](repeating: 0, count: FieldDescription.Kind.allCases.count)
  private var nulls = 0
  /// Times that it was there, once in each object that may have it.
  private var occurrences = 0
  private var values = 0
  private var tally = ValueTally()

  private var numbers: [Double] = []
  private var numberCount = 0
  private var sum = 0.0
  private var (leastNumber, greatestNumber) = (Double.infinity, -Double.infinity)
  private var isDate = false
  private var leastText: [UInt8]?
  private var greatestText: [UInt8] = []
  private var random: UInt64 = 0x2545_F491_4F6C_DD1D

  /// The statistics of whole documents.
  init() { (name, isRoot) = ("", true) }

  private init(name: String) { (self.name, isRoot) = (name, false) }

  // MARK: Meeting values

  func see(_ document: Document) {
    occurrences += 1
    count(document)
  }

  private func count(_ document: Document) {
    switch document {
    case .null: nulls += 1
    case .bool(let flag):
      kinds[.bool] += 1
      values += 1
      tally.add(ValueHash.bits(flag ? 1 : 2), document)
    case .number(let number):
      kinds[.number] += 1
      values += 1
      let value = number.double
      tally.add(number.hash(nearest: value), document)
      see(value)
    case .date(let seconds):
      kinds[.date] += 1
      values += 1
      isDate = true
      tally.add(ValueHash.number(seconds), document)
      see(seconds)
    case .string(let text):
      kinds[.text] += 1
      values += 1
      see(text)
    case .data(let bytes):
      kinds[.data] += 1
      values += 1
      tally.add(bytes.withUnsafeBufferPointer { ValueHash.text($0, seed: 3) }, document)
    case .array(let elements):
      kinds[.list] += 1
      for element in elements { count(element) }
    case .object(let members):
      kinds[.object] += 1
      for (position, member) in members.enumerated() { child(member.name, at: position).see(member.value) }
    }
  }

  /// Records of a kind have their members in the same order: the first guess is nearly always right.
  private func child(_ name: String, at position: Int) -> FieldStatistics {
    if position < children.count, children[position].name == name { return children[position] }
    if let known = children.first(where: { $0.name == name }) { return known }
    let new = FieldStatistics(name: name)
    children.append(new)
    return new
  }

  private func see(_ text: String) {
    var text = text
    let hash = text.withUTF8 { bytes in
      if let leastText {
        if bytes.precedes(leastText) { self.leastText = Array(bytes) }
        if greatestText.withUnsafeBufferPointer({ $0.precedes(bytes) }) { greatestText = Array(bytes) }
      } else {
        leastText = Array(bytes)
        greatestText = Array(bytes)
      }
      return ValueHash.text(bytes)
    }
    tally.add(hash, .string(text))
  }

  private func see(_ number: Double) {
    guard number.isFinite else { return }
    numberCount += 1
    sum += number
    leastNumber = min(leastNumber, number)
    greatestNumber = max(greatestNumber, number)
    if numbers.count < Self.keptLimit { return numbers.append(number) }
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    let place = Int(random % UInt64(numberCount))
    if place < numbers.count { numbers[place] = number }
  }

  // MARK: Telling

  func describe(
    into fields: inout [FieldDescription], records: Int, isComplete: Bool, isDetailed: Bool, prefix: String,
    path: DocumentPath?
  ) {
    let objects = kinds[.object]
    if !isRoot, objects == 0 || values + nulls > 0 || kinds[.list] > 0 {
      fields.append(description(records: records, isDetailed: isDetailed, name: prefix, path: path))
    }
    let isInList = kinds[.list] > 0
    for child in children {
      let childPath = isInList ? nil : path?.appending(child.name)
      let step = DocumentPath([.member(child.name)])
      let name =
        isRoot ? step.shortText : prefix + (isInList ? "[]" : "") + step.description
      child.describe(
        into: &fields, records: objects, isComplete: isComplete, isDetailed: isDetailed, prefix: name, path: childPath)
    }
  }

  private func description(records: Int, isDetailed: Bool, name: String, path: DocumentPath?) -> FieldDescription {
    let met = FieldDescription.Kind.allCases.map { ($0, kinds[$0]) }.filter { $0.1 > 0 }
    let commonest = tally.commonest(max(8, FieldDescription.distributionParts)).map {
      FieldDescription.Common(value: $0.value, count: $0.count)
    }
    var field = FieldDescription(
      name: name, path: path, kinds: met.sorted { $0.1 > $1.1 }.map { (kind: $0.0, count: $0.1) }, nulls: nulls,
      missing: max(0, records - occurrences), count: values, distinct: tally.distinct, isEstimated: !tally.isExact,
      commonest: Array(commonest.prefix(8)), least: nil, greatest: nil, quartiles: [], areQuartilesSampled: false,
      mean: nil, distribution: [], index: nil)
    if numberCount > 0 {
      field.least = document(leastNumber)
      field.greatest = document(greatestNumber)
      field.mean = sum / Double(numberCount)
      if isDetailed {
        let sorted = numbers.sorted()
        field.quartiles = (1...3).map { document(sorted[Self.quartile($0, of: sorted.count)]) }
        field.areQuartilesSampled = numberCount > numbers.count
        field.distribution = distribution()
      }
    } else if let leastText {
      field.least = .string(String(decoding: leastText, as: UTF8.self))
      field.greatest = .string(String(decoding: greatestText, as: UTF8.self))
    }
    if numberCount == 0, field.count > 0 { field.distribution = commonest.map(\.count) }
    return field
  }

  /// The place of a quartile among sorted values.
  static func quartile(_ part: Int, of count: Int) -> Int { max(0, (count * part + 3) / 4 - 1) }

  private func document(_ number: Double) -> Document {
    if isDate, kinds[.number] == 0 { return .date(number) }
    if let whole = Int64(exactly: number) { return .number(NumberText(whole)) }
    return .number(NumberText(number))
  }

  private func distribution() -> [Int] {
    guard greatestNumber > leastNumber else { return [numbers.count] }
    var parts = [Int](repeating: 0, count: FieldDescription.distributionParts)
    let range = leastNumber...greatestNumber
    for number in numbers { parts[range.part(of: number, among: parts.count)] += 1 }
    return parts
  }
}

extension [Int] {
  fileprivate subscript(kind: FieldDescription.Kind) -> Int {
    get { self[kind.place] }
    set { self[kind.place] = newValue }
  }
}

extension FieldDescription.Kind {
  fileprivate var place: Int {
    switch self {
    case .text: 0
    case .number: 1
    case .bool: 2
    case .date: 3
    case .data: 4
    case .list: 5
    case .object: 6
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func precedes(_ other: [UInt8]) -> Bool { other.withUnsafeBufferPointer { precedes($0) } }

  fileprivate func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    let common = Swift.min(count, other.count)
    for place in 0..<common where self[place] != other[place] { return self[place] < other[place] }
    return count < other.count
  }
}

extension NumberText {
  /// Equal for equal numbers of up to 15 digits, for integers of 64 bits, and for others with the same nearest double.
  fileprivate func hash(nearest: Double) -> UInt64 {
    if text.utf8.count > 15, nearest.magnitude >= 0x1p53, let integer {
      return ValueHash.bits(UInt64(bitPattern: integer))
    }
    return ValueHash.number(nearest)
  }
}
