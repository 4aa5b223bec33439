import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const src = resolve(import.meta.dirname, '../src')
const map = readFileSync(join(src, 'README.md'), 'utf8')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

const section = (heading: string): string => map.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
const namesIn = (cell: string): string[] => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name)
const rows = (heading: string): string[][] =>
  section(heading)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))

/** A folder of the map, or the name of a file beside them. */
const placeOf = (file: string): string => (dirname(file) === '.' ? basename(file, '.ts') : (file.split('/')[0] ?? ''))
const order = rows('Order').flatMap(([cell = '']) => namesIn(cell))
const owners = new Map(rows('Owners of libraries').map(([library = '', owner = '']) => [namesIn(library)[0], namesIn(owner)[0]]))

function importsOf(file: string): string[] {
  const code = readFileSync(join(src, file), 'utf8')
  return Array.from(
    code.matchAll(/(?:^|\s)(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g),
    (match) => match[1] ?? match[2] ?? '',
  )
}

test('the map names every folder and every top-level file', () => {
  expect(files.map(placeOf).filter((place) => !order.includes(place))).toEqual([])
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
  const names = files.map((file) => basename(file))
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([])
})

test('each library is imported only by its owner', () => {
  const elsewhere = files.flatMap((file) =>
    importsOf(file)
      .map((target) => [...owners.keys()].find((library) => target === library || target.startsWith(`${library}/`)))
      .filter((library) => library !== undefined && owners.get(library) !== placeOf(file))
      .map((library) => `${file} imports ${library}`),
  )
  expect(elsewhere).toEqual([])
})
