// swift-tools-version: 6.2
import PackageDescription

// An app with a share extension and a widget. Xcode builds its programs from `project.yml`; here are their sources as libraries.
let package = Package(
  name: "Library",
  platforms: [.iOS(.v18), .macOS(.v15)],
  products: [.library(name: "LibraryModel", targets: ["LibraryModel"])],
  dependencies: [.package(name: "Strata", path: "../..")],
  targets: [
    .target(name: "LibraryModel", dependencies: [.product(name: "CodableDatastore", package: "Strata")]),
    .target(name: "LibraryApp", dependencies: ["LibraryModel"]),
    .target(name: "LibraryShare", dependencies: ["LibraryModel"]),
    .target(name: "LibraryWidget", dependencies: ["LibraryModel"]),
  ]
)
