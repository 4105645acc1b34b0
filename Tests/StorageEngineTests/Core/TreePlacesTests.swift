import Testing

@testable import StorageEngine

@Suite("Places of trees in a transaction")
struct TreePlacesTests {
  @Test("a name has the last place that it was given, among few names and many")
  func lastPlace() {
    var places = TreePlaces()
    var names: [TreeName] = []
    for number in 0..<40 {
      // Every third name comes again, as that of a tree that was dropped and made anew.
      let name = TreeName([UInt8(number % 3 == 0 ? number / 2 : number)])
      places.append(name)
      names.append(name)
      for number in 0...40 {
        let name = TreeName([UInt8(number)])
        #expect(places[name] == names.lastIndex(of: name))
      }
    }
  }
}
