import StrataDocuments

/// Numbers kept for quartiles: all of them up to `limit`, beyond that a random sample of as many. Whole numbers stay exact.
struct NumberSample {
  static let limit = 1 << 20

  private var numbers: [Double] = []
  /// The differences of whole numbers from their nearest doubles; empty as long as all are zero.
  private var rests: [Int64] = []
  private var count = 0
  private var random: UInt64 = 0x2545_F491_4F6C_DD1D

  var isSample: Bool { count > numbers.count }

  mutating func add(_ number: Double, _ exact: ExactNumber?) {
    guard number.isFinite else { return }
    count += 1
    var rest: Int64 = 0
    if number.magnitude >= 0x1p53, number.magnitude < 0x1p120, let whole = exact?.whole {
      rest = Int64(clamping: whole - Int128(number))
    }
    if rest != 0, rests.isEmpty { rests = Array(repeating: 0, count: numbers.count) }
    if numbers.count < Self.limit {
      numbers.append(number)
      if rest != 0 || !rests.isEmpty { rests.append(rest) }
      return
    }
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    let place = Int(random % UInt64(count))
    guard place < numbers.count else { return }
    numbers[place] = number
    if !rests.isEmpty { rests[place] = rest }
  }

  /// Returns the lower quartile, the median and the upper quartile; each is an existing number. Costs a sort.
  func quartiles(areDates: Bool) -> [Document] {
    guard !numbers.isEmpty else { return [] }
    let places = (1...3).map { Self.quartile($0, of: numbers.count) }
    let found: [(number: Double, rest: Int64)]
    if rests.isEmpty {
      let sorted = numbers.sorted()
      found = places.map { (sorted[$0], 0) }
    } else {
      let sorted = zip(numbers, rests).sorted { $0 < $1 }
      found = places.map { sorted[$0] }
    }
    return found.map { areDates ? .date($0.number) : .number(Self.text($0.number, $0.rest)) }
  }

  /// The position of a quartile among sorted values.
  static func quartile(_ part: Int, of count: Int) -> Int { max(0, (count * part + 3) / 4 - 1) }

  private static func text(_ number: Double, _ rest: Int64) -> NumberText {
    guard number.magnitude < 0x1p120, let whole = Int128(exactly: number) else { return NumberText(number) }
    return NumberText(whole + Int128(rest))
  }

  /// Returns how many numbers are in each of `parts` equal parts between the minimum and the maximum.
  func distribution(_ parts: Int) -> [Int] {
    guard let least = numbers.min(), let greatest = numbers.max(), least < greatest else { return [numbers.count] }
    var counts = [Int](repeating: 0, count: parts)
    for number in numbers { counts[(least...greatest).part(of: number, among: parts)] += 1 }
    return counts
  }
}
