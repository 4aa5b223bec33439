import { z } from 'zod'
import { isoTime, isoTimeOrNull } from '../../platform/iso-time.ts'
import { camel, type Camel } from '../../platform/letter-case.ts'

/** A time in a response or an event, as `isoTime` writes it. */
export const timeAnswer = z.iso.datetime({ precision: 3 })

type Member<Row, Name> = Name extends keyof Row ? Row[Name] : Camel<Name> extends keyof Row ? Row[Camel<Name>] : undefined

/** A member of the row that is shown in a different form. */
interface Conversion<Stored, S extends z.ZodType> {
  schema: S
  convert(stored: Stored): z.input<S>
}

type Read<Row> = keyof Row | ((row: Row) => unknown)

/**
 * A field of a resource: a constant string; the schema of the row's member of the same name (in snake case or camel case); a conversion
 * of that member; or a schema with the member or the function to read it from.
 */
type Field<Row> = string | z.ZodType | Conversion<never, z.ZodType> | readonly [z.ZodType, Read<Row>]

type SchemaOf<F> = F extends string
  ? z.ZodLiteral<F>
  : F extends z.ZodType
    ? F
    : F extends { schema: infer S extends z.ZodType }
      ? S
      : F extends readonly [infer S extends z.ZodType, unknown]
        ? S
        : never

type Shown<Row, R> = R extends keyof Row ? Row[R] : R extends (row: Row) => infer V ? V : never

type Fits<Row, Name, F> = F extends string
  ? true
  : F extends z.ZodType
    ? Member<Row, Name> extends z.input<F>
      ? true
      : false
    : F extends { convert(stored: infer Stored): unknown }
      ? Member<Row, Name> extends Stored
        ? true
        : false
      : F extends readonly [infer S extends z.ZodType, infer R]
        ? Shown<Row, R> extends z.input<S>
          ? true
          : false
        : false

/** The names of the fields whose schemas do not fit the row's types. */
type Misfits<Row, F> = { [Name in keyof F]: Fits<Row, Name, F[Name]> extends true ? never : Name }[keyof F]

/** What the API shows of an object: its schema, and how to make it from a row (or from what was read from the row). */
export interface Resource<Row, F> {
  /** For building another resource on top. */
  fields: F
  schema: z.ZodObject<{ -readonly [Name in keyof F]: SchemaOf<F[Name]> }>
  answer(row: Row): z.input<z.ZodObject<{ -readonly [Name in keyof F]: SchemaOf<F[Name]> }>>
}

type Fitting<Row, F> = [Misfits<Row, F>] extends [never] ? Resource<Row, F> : { fieldsThatDoNotFit: Misfits<Row, F> }

/** Declares a resource; `name` is that of its schema in the OpenAPI document, or null if it has none of its own. */
export const resource =
  <Row extends object>(name: string | null, description?: string) =>
  <const F extends Record<string, Field<Row>>>(fields: F): Fitting<Row, F> => {
    const parts = Object.entries<Field<Row>>(fields).map(([field, declared]) => ({ field, ...partOf(field, declared) }))
    const schema = z.object(Object.fromEntries(parts.map((part) => [part.field, part.schema])))
    const named = name === null ? schema : schema.meta({ id: name, ...(description === undefined ? {} : { description }) })
    const answer = (row: Row) => Object.fromEntries(parts.map(({ field, read }) => [field, read(row)]))
    return { fields, schema: named, answer } as unknown as Fitting<Row, F>
  }

interface Part<Row> {
  schema: z.ZodType
  read(row: Row): unknown
}

function partOf<Row extends object>(name: string, field: Field<Row>): Part<Row> {
  if (typeof field === 'string') return { schema: z.literal(field), read: () => field }
  if (field instanceof z.ZodType) return { schema: field, read: memberReader(name) }
  if ('convert' in field) {
    const read = memberReader<Row>(name)
    return { schema: field.schema, read: (row) => field.convert(read(row) as never) }
  }
  const [schema, by] = field
  return { schema, read: typeof by === 'function' ? by : (row) => row[by] }
}

function memberReader<Row extends object>(name: string): (row: Row) => unknown {
  const member = camel(name)
  return (row) => (row as Record<string, unknown>)[name in row ? name : member]
}

const described = <S extends z.ZodType>(schema: S, description: string | undefined): S =>
  description === undefined ? schema : schema.describe(description)

/** A time stored as epoch, ms. */
export const time = (description?: string): Conversion<number, typeof timeAnswer> => ({
  schema: described(timeAnswer, description),
  convert: isoTime,
})

/** The same if there may be none. */
export const timeOrNull = (description?: string): Conversion<number | null, z.ZodNullable<typeof timeAnswer>> => ({
  schema: described(timeAnswer.nullable(), description),
  convert: isoTimeOrNull,
})

/** True or false, stored as 1 or 0. */
export const flag = (description?: string): Conversion<number, z.ZodBoolean> => ({
  schema: described(z.boolean(), description),
  convert: (stored) => stored === 1,
})

/** The response of an operation that changes something and has nothing to show. */
export const referenceTo = <const Kind extends string>(kind: Kind) => z.object({ object: z.literal(kind), id: z.string() })

/** The response of an operation that has deleted something. */
export const deletedAnswer = <const Kind extends string>(kind: Kind, name: string) =>
  referenceTo(kind)
    .extend({ deleted: z.literal(true) })
    .meta({ id: name })
