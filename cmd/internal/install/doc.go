// Package install puts an agent of the registry into a folder of its own.
//
// # What holds
//
//   - Each installation gets a new folder, DIR/ID/VERSION or, if that is taken, VERSION-2 and so
//     on: what runs is never changed. A folder counts when its manifest is beside it, which is written
//     last; what did not get that far is removed, at the latest by the next command.
//   - An archive is compared with its SHA-256 before anything of it is read, if the registry has one.
//   - Of an archive only files, folders and links that stay inside are unpacked, with names that are the
//     same on every system, up to a number and a size, and for this user only.
//   - Packages of npm and PyPI are installed by npm and uv, with one exact version, and without programs
//     of the packages being run unless a person has agreed to that.
//   - Programs that install get a safe part of the environment, and run in the new folder.
package install
