import StrataEngine
import Testing

@Suite("Work ahead of its user")
struct WorkingAheadTests {
  private struct Enough: Error {}

  @Test("everything that is made comes, in order, however few values may wait", arguments: [1, 3, 1_000])
  func order(_ capacity: Int) {
    let numbers = workingAhead(by: capacity) { queue in
      for number in 0..<500 { #expect(queue.put(number)) }
    } use: { queue in
      var numbers: [Int] = []
      while let number = queue.next() { numbers.append(number) }
      return numbers
    }
    #expect(numbers == Array(0..<500))
  }

  @Test(
    "who makes values hears that no more are wanted, and has ended when the call comes back", arguments: [0, 1, 20])
  func refusal(_ wanted: Int) {
    var made = 0
    #expect(throws: Enough.self) {
      try workingAhead(by: 2) { queue in
        while queue.put(made) { made += 1 }
      } use: { queue throws(Enough) in
        for number in 0..<wanted { #expect(queue.next() == number) }
        throw Enough()
      }
    }
    #expect((wanted...wanted + 2).contains(made))
  }

  @Test("nothing made is nothing to take")
  func nothing() {
    let taken = workingAhead(by: 1) { (_: BoundedQueue<Int>) in
    } use: { queue in
      queue.next()
    }
    #expect(taken == nil)
  }
}
