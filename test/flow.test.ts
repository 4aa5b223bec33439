import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const src = resolve(import.meta.dirname, '../src')
const map = readFileSync(join(src, 'README.md'), 'utf8')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))

const section = (document: string, heading: string): string => document.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
const namesIn = (cell: string): string[] => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name)
const rows = (document: string, heading: string): string[][] =>
  section(document, heading)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))

/** `group/folder`, or `group/name` of a file beside folders. */
const placeOf = (file: string): string =>
  file
    .split('/')
    .slice(0, 2)
    .join('/')
    .replace(/\.tsx?$/, '')
const groups = rows(map, 'Groups').flatMap(([cell = '']) => namesIn(cell))
const order = groups.flatMap((group) =>
  rows(readFileSync(join(src, group, 'README.md'), 'utf8'), 'Order').flatMap(([cell = '']) =>
    namesIn(cell).map((name) => `${group}/${name}`),
  ),
)
const owners = new Map(rows(map, 'Owners of libraries').map(([library = '', owner = '']) => [namesIn(library)[0], namesIn(owner)]))

function importsOf(file: string): string[] {
  const code = readFileSync(join(src, file), 'utf8')
  return Array.from(
    code.matchAll(/(?:^|\s)(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g),
    (match) => match[1] ?? match[2] ?? '',
  )
}

test('the map names every group, and each group its folders and files', () => {
  expect(readdirSync(src).filter((name) => !groups.includes(name))).toEqual(['README.md'])
  expect(files.map(placeOf).filter((place) => !order.includes(place))).toEqual([])
  expect(order.filter((place) => !files.some((file) => placeOf(file) === place))).toEqual([])
})

test('imports point down the map', () => {
  const upward = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.startsWith('.'))
      .map((target) => relative(src, resolve(src, dirname(file), target)))
      .filter((target) => placeOf(target) !== placeOf(file) && order.indexOf(placeOf(target)) <= order.indexOf(placeOf(file)))
      .map((target) => `${file} imports ${target}`),
  )
  expect(upward).toEqual([])
})

test('there are no import cycles', () => {
  const graph = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((target) => target.startsWith('.'))
        .map((target) => relative(src, resolve(src, dirname(file), target))),
    ]),
  )
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (done.has(file) || path.includes(file)) return
    for (const target of graph.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  expect(circles).toEqual([])
})

test('no two files have the same name', () => {
  const names = files.filter((file) => file.endsWith('.ts')).map((file) => basename(file))
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([])
})

/** An owner is a folder, a file, or all files whose names end alike. */
const isOwner = (owner: string, file: string): boolean =>
  owner === basename(placeOf(file)) || (owner.startsWith('…') && file.endsWith(`${owner.slice(1)}.ts`))

test('each library is imported only by its owner', () => {
  const elsewhere = files.flatMap((file) =>
    importsOf(file)
      .map((target) => [...owners.keys()].find((library) => target === library || target.startsWith(`${library}/`)))
      .filter((library) => library !== undefined && !owners.get(library)?.some((owner) => isOwner(owner, file)))
      .map((library) => `${file} imports ${library}`),
  )
  expect(elsewhere).toEqual([])
})

test('only the store knows which engine runs', () => {
  const engines = /platform\/store\/(?:sqlite|postgresql)\/|^(?:better-sqlite3|pg)$/
  const importers = files
    .filter((file) => !engines.test(file))
    .filter((file) => importsOf(file).some((target) => engines.test(target.startsWith('.') ? resolve(src, dirname(file), target) : target)))
  // What opens a store, what is done without one that is open, and what copies from one engine to the other.
  expect(importers.toSorted()).toEqual(
    ['closed-store', 'copy-store', 'file-copies', 'open-store'].map((name) => `platform/store/${name}.ts`),
  )
  // A setting says where the database is, and a command where it goes, in the words of their documentation.
  const documented = ['platform/config/settings.ts', 'clients/command/store-commands.ts']
  const elsewhere = files.filter((file) => placeOf(file) !== 'platform/store' && !documented.includes(file))
  const code = (file: string): string => readFileSync(join(src, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
  expect(elsewhere.filter((file) => /sqlite|postgres/i.test(code(file)))).toEqual([])
})
