import { nearestName } from '../../platform/config/nearest-name.ts'
import { Secret } from '../../platform/config/setting-types.ts'
import { plainValue, type YamlNode } from '../../platform/config/yaml-tree.ts'
import { SternaError } from '../../platform/errors.ts'
import { valueOfField } from './file-value.ts'
import { referenceIn, referenceName, type ReferredTexts } from './reference.ts'
import { nameOf, setUpFields, type Field } from './set-up-fields.ts'
import {
  identityOf,
  objectLabel,
  sections,
  type ObjectKind,
  type SectionKind,
  type DesiredObject,
  type DesiredSetUp,
} from './set-up-object.ts'

interface Reading {
  /** As the user named it, for the places of faults. */
  file: string
  texts: ReferredTexts
  setUp: DesiredSetUp
  /** Its objects by their identity. */
  known: Map<string, DesiredObject>
  faults: string[]
}

/**
 * What a file wants.
 * @param tree null for an empty file
 * @throws SternaError `configuration` with all faults, one per line: where it is, what it is, and how to fix it
 */
export function readSetUp(tree: YamlNode | null, from: { file: string; texts: ReferredTexts }): DesiredSetUp {
  const reading: Reading = { ...from, setUp: { objects: [], sections: [] }, known: new Map(), faults: [] }
  const root = tree === null ? [] : entriesOf(tree, 'a map that begins with "accounts:"', reading)
  for (const { key, line, node } of root) {
    if (key === 'accounts') readSection({ account: null, kind: 'account' }, node, reading)
    else fault(reading, line, unknownField(key, ['accounts'], 'the file'))
  }
  checkTogether(reading)
  refuseFaults(reading.faults)
  return reading.setUp
}

/** Beyond these, the file is not what it was meant to be, and the server has other work. */
const maxFaults = 100

/** @throws SternaError `configuration` if there are faults */
export function refuseFaults(faults: readonly string[]): void {
  if (faults.length === 0) return
  const title =
    faults.length === 1
      ? 'The file has an error, and nothing was changed:'
      : `The file has ${faults.length < maxFaults ? '' : 'at least '}${faults.length} errors, and nothing was changed:`
  throw new SternaError('configuration', [title, ...faults.map((each) => `  ${each}`)].join('\n'))
}

function readSection(section: { account: string | null; kind: ObjectKind }, node: YamlNode, reading: Reading): void {
  reading.setUp.sections.push(section)
  if ('value' in node && node.value === null) return
  if (!('items' in node)) return fault(reading, node.line, `this is not a list. Write one "- ${firstField(section.kind)}: …" for each.`)
  for (const item of node.items) readObject(section, item, reading)
}

const firstField = (kind: ObjectKind): string => Object.keys(setUpFields[kind])[0] ?? ''

function readObject({ account, kind }: { account: string | null; kind: ObjectKind }, node: YamlNode, reading: Reading): void {
  const values: Record<string, unknown> = {}
  const lines: Record<string, number> = {}
  const inner: { kind: SectionKind; node: YamlNode }[] = []
  readFields({ kind, prefix: '', node, values, lines, inner }, reading)
  const naming = firstField(kind)
  if (!(naming in values)) {
    if (!(naming in lines)) fault(reading, node.line, `${naming} is missing, which says which ${kind} this is.`)
    return
  }
  const name = nameOf(kind, values)
  const placeOf = (line: number): string => `${reading.file}:${line}`
  const places = Object.fromEntries(Object.entries(lines).map(([field, line]) => [field, placeOf(line)]))
  const object: DesiredObject = { kind, account: account ?? name, name, values, place: placeOf(node.line), places }
  const twin = reading.known.get(identityOf(object))
  if (twin) return fault(reading, node.line, `${objectLabel(object)} is given already at ${twin.place}. Remove one of the two.`)
  reading.known.set(identityOf(object), object)
  reading.setUp.objects.push(object)
  for (const section of inner) readSection({ account: object.name, kind: section.kind }, section.node, reading)
}

interface Fields {
  kind: ObjectKind
  /** `suppression_policy.` within a map of fields. */
  prefix: string
  node: YamlNode
  values: Record<string, unknown>
  lines: Record<string, number>
  inner: { kind: SectionKind; node: YamlNode }[]
}

/** As in the configuration file, `a: {b: 1}` and `a.b: 1` mean the same. */
function readFields(fields: Fields, reading: Reading): void {
  const { kind, prefix, node, values, lines, inner } = fields
  const known = setUpFields[kind]
  for (const { key, line, node: value } of entriesOf(node, `a map of the fields of a ${kind}`, reading)) {
    const name = prefix + key
    // A key such as `constructor` is no field, though every object has it.
    const field = Object.hasOwn(known, name) ? known[name] : undefined
    const section = kind === 'account' && prefix === '' ? sectionNamed(name) : undefined
    if (field) {
      if (Object.hasOwn(lines, name)) fault(reading, line, `${name} is given already above. Remove one of the two.`)
      lines[name] = line
      readField({ field, name, line, value, values }, reading)
    } else if (section) {
      inner.push({ kind: section, node: value })
    } else if (Object.keys(known).some((other) => other.startsWith(`${name}.`))) {
      const isNone = 'value' in value && (value.value === null || value.value === 'none')
      if (isNone) for (const other of Object.keys(known).filter((each) => each.startsWith(`${name}.`))) values[other] = null
      else readFields({ ...fields, prefix: `${name}.`, node: value }, reading)
    } else {
      fault(reading, line, unknownField(name, [...Object.keys(known), ...(kind === 'account' ? Object.values(sections) : [])], `a ${kind}`))
    }
  }
}

const sectionNamed = (name: string): SectionKind | undefined =>
  (Object.keys(sections) as SectionKind[]).find((kind) => sections[kind] === name)

interface GivenField {
  field: Field
  name: string
  line: number
  value: YamlNode
  values: Record<string, unknown>
}

function readField({ field, name, line, value, values }: GivenField, reading: Reading): void {
  const isSecret = field.reference === 'required'
  const given = plainValue(value)
  const reference = field.reference ? referenceIn(given) : undefined
  if (isSecret && typeof given === 'string' && given !== 'none')
    return fault(reading, line, `${name}: a secret does not belong in this file. Write where it is: {env: NAME} or {file: PATH}.`)
  const found = reference
    ? (reading.texts[referenceName(reference)] ?? { fault: `nothing was found at ${referenceName(reference)}.` })
    : undefined
  if (found && 'fault' in found) return fault(reading, line, `${name}: ${found.fault}`)
  try {
    // Editors and echo(1) end the last line of a secret.
    const text = isSecret ? found?.text.replace(/\r?\n$/, '') : found?.text
    const read = valueOfField(name, field.type, found ? text : given)
    values[name] = isSecret && typeof read === 'string' ? new Secret(read) : read
  } catch (error) {
    if (!(error instanceof SternaError)) throw error
    fault(reading, line, error.message)
  }
}

/** What needs more than one field. */
function checkTogether({ setUp: { objects }, faults }: Reading): void {
  for (const { kind, values, place, places } of objects) {
    if (kind !== 'key') continue
    const token = values['token'] as { prefix: string } | undefined
    if (token && token.prefix.startsWith('sterna_test_') !== (values['sandbox'] === true))
      faults.push(`${places['token'] ?? place}: token: a sandbox key begins with sterna_test_, any other with sterna_live_.`)
  }
}

const unknownField = (name: string, known: readonly string[], where: string): string => {
  const near = nearestName(name, known)
  return near === undefined
    ? `${where} has no ${name}. It may have: ${known.join(', ')}.`
    : `${where} has no ${name}; did you mean ${near}?`
}

function entriesOf(node: YamlNode, expected: string, reading: Reading) {
  if ('entries' in node) return node.entries
  if (!('value' in node && node.value === null)) fault(reading, node.line, `this is not ${expected}.`)
  return []
}

function fault({ file, faults }: Reading, line: number, message: string): void {
  faults.push(`${file}:${line}: ${message}`)
  if (faults.length >= maxFaults) refuseFaults(faults)
}
