/// What the suites run on that are compiled for stores on a server too (`PostgresPersistenceTests`): there transactions wait for nobody,
/// keys are bytes and short, and a sequence begins when it is first read.
enum TestedStore {
  static let isServed = false
}
