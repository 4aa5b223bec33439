import type { z } from 'zod'
import { differsByAtMost } from '../../platform/config/nearest-name.ts'
import type { FieldFault } from '../../platform/errors.ts'

/** A member that nobody knows, and the one that was probably meant. */
export interface Mistyped {
  fault: FieldFault
  /** The path of what was meant, such as `attachments.0.content_type`. */
  meant: string
}

/**
 * Finds the unknown members of a request that are nearly known ones. Silently ignored, `schedule_at` would send at once. Any other
 * unknown member may be of a later version or of another service, and so may one that stands beside the known one.
 */
export function mistypedMembers(schema: z.ZodType, value: unknown): Mistyped[] {
  const shape = shapeOf(schema)
  if (shape === null) return []
  const search: Search = { found: [], left: maxUnknown }
  visit(shape, value, { path: '', search })
  return search.found
}

/** The known name that this one nearly is; null if there is none. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  if (name.length > maxNameLength) return null
  const names = [...known]
  const plain = plainOf(name)
  return (
    names.find((other) => plainOf(other) === plain || `${plainOf(other)}s` === plain) ??
    names.find((other) => other === sameMeaning[plain]) ??
    names.find((other) => differsByAtMost(slipsIn(other), plain, plainOf(other))) ??
    null
  )
}

/** Unknown members of a request that are compared: it may have thousands. */
const maxUnknown = 100
/** characters */
const maxNameLength = 40

/** What services call the same, in plain letters. */
const sameMeaning: Record<string, string> = { recipient: 'to', recipients: 'to', sender: 'from' }

const plainOf = (name: string): string => name.toLowerCase().replace(/[-_]/g, '')

/** How many slips of the pen make a name another: short ones are words of their own too easily. */
const slipsIn = (name: string): number => (name.length < 4 ? 0 : name.length < 8 ? 1 : 2)

/** What a schema knows of names; null where there is nothing to know. */
interface Shape {
  /** Null where any name may stand there. */
  members: Map<string, Shape | null> | null
  /** Of the entries of a list, or of an object whose names are free. */
  entries: Shape | null
}

interface Search {
  found: Mistyped[]
  left: number
}

function visit(shape: Shape, value: unknown, at: { path: string; search: Search }): void {
  if (typeof value !== 'object' || value === null) return
  const inside = (name: string | number): typeof at => ({ ...at, path: at.path === '' ? String(name) : `${at.path}.${name}` })
  if (Array.isArray(value) || shape.members === null) {
    if (shape.entries) for (const [name, entry] of Object.entries(value)) visit(shape.entries, entry, inside(name))
    return
  }
  for (const name of Object.keys(value)) {
    const known = shape.members.get(name)
    if (known) visit(known, (value as Record<string, unknown>)[name], inside(name))
    else if (known === undefined && at.search.left-- > 0) compare(name, shape.members, { value, inside, search: at.search })
  }
}

function compare(
  name: string,
  members: Map<string, unknown>,
  { value, inside, search }: { value: object; inside: (name: string) => { path: string }; search: Search },
): void {
  const nearest = nearestName(name, members.keys())
  if (nearest === null || Object.hasOwn(value, nearest)) return
  const { path } = inside(name)
  const message = `There is no field \`${path}\`. Did you mean \`${nearest}\`?`
  search.found.push({ fault: { field: path, code: 'unknown_field', message, help: null }, meant: inside(nearest).path })
}

const shapes = new WeakMap<z.core.$ZodType, { shape: Shape | null }>()

function shapeOf(schema: z.core.$ZodType): Shape | null {
  const known = shapes.get(schema)
  if (known) return known.shape
  const shape = shapeIn(definitionOf(schema))
  shapes.set(schema, { shape })
  return shape
}

/** The parts of a schema that matter to those who look into it. */
interface Definition {
  type: string
  shape?: Record<string, z.ZodType>
  catchall?: z.ZodType
  element?: z.ZodType
  valueType?: z.ZodType
  options?: readonly z.ZodType[]
  innerType?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
}

/** What a schema says of itself. */
export const definitionOf = (schema: z.core.$ZodType): Definition => schema._zod.def as unknown as Definition

function shapeIn(definition: Definition): Shape | null {
  const { shape, catchall, element, valueType, options, innerType, in: before, out } = definition
  if (shape) {
    const isClosed = catchall === undefined || catchall._zod.def.type === 'never'
    return { members: isClosed ? new Map(Object.entries(shape).map(([name, member]) => [name, shapeOf(member)])) : null, entries: null }
  }
  const entry = element ?? valueType
  if (entry) return { members: null, entries: shapeOf(entry) }
  if (options) return options.map(shapeOf).reduce(both, null)
  // A check may stand before a schema, and a transformation behind one.
  if (before && out) return shapeOf(before) ?? shapeOf(out)
  return innerType ? shapeOf(innerType) : null
}

function both(one: Shape | null, other: Shape | null): Shape | null {
  if (!one || !other) return one ?? other
  const members = one.members && other.members ? new Map([...one.members, ...other.members]) : (one.members ?? other.members)
  return { members, entries: one.entries ?? other.entries }
}
