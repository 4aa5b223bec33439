import { z } from 'zod'
import type { CheckParams } from './errors.ts'
import { parseIsoTime } from './iso-time.ts'
import { camel, snake, type Camel } from './letter-case.ts'

/** A time in a request or a file, parsed to epoch, ms. */
export const timeField = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text, ctx) => {
    const at = parseIsoTime(text)
    if (at !== null) return at
    const params: CheckParams = { code: 'invalid_time' }
    ctx.addIssue({ code: 'custom', message: 'must be a time such as 2026-11-21T06:00:00Z', params })
    return z.NEVER
  })

/** A field of an object that an account sets, said once for the API, files, commands and the database. */
export interface ManagedField {
  /** What requests and files bring, and what the object holds. */
  type: z.ZodType
  /** What it means, in sentences, without what it is by default. */
  doc: string
  /** What a new object has if nothing is given; without it and `usual`, it must be given. */
  initial?: unknown
  /** The same in words, where it follows from other fields or from the server. */
  usual?: string
  /** What to do instead, if it cannot change once the object exists. */
  once?: string
  /** How answers show it, if not as its type; for `resource`. */
  shown?: unknown
  /** Of an object type: the members that a file only refers to. */
  secrets?: readonly string[]
  /** The object's member, if not the name in camel case. */
  member?: string
  /** True if it holds words of those who use the server, for `stored-data`. */
  ofUsers?: true
}

type Fields = Readonly<Record<string, ManagedField>>
type Member<Name, Field> = Field extends { member: infer Own extends string } ? Own : Camel<Name>
type Value<Field> = Field extends { type: infer T extends z.ZodType } ? z.output<T> : never

/** The members of an object with these fields. */
export type MembersOf<F> = { -readonly [Name in keyof F as Member<Name, F[Name]>]: Value<F[Name]> }
type InitialOf<F> = {
  -readonly [Name in keyof F as F[Name] extends { initial: unknown } ? Member<Name, F[Name]> : never]: Value<F[Name]>
}
type FlagOf<F> = { [Name in keyof F]: Value<F[Name]> extends boolean ? Member<Name, F[Name]> : never }[keyof F]
type OnceNameOf<F> = { [Name in keyof F]: F[Name] extends { once: string } ? Name : never }[keyof F]
type OnceOf<F> = { [Name in OnceNameOf<F>]: Member<Name, F[Name]> }[OnceNameOf<F>]
type MemberOf<F> = keyof MembersOf<F>

type TypeOf<Field> = Field extends { type: infer T extends z.ZodType } ? T : never
type RequestOf<F> = { -readonly [Name in keyof F]: z.ZodOptional<z.ZodNullable<TypeOf<F[Name]>>> }
type ShownOf<F> = { -readonly [Name in keyof F]: F[Name] extends { shown: infer Shown } ? Shown : TypeOf<F[Name]> }

/** Fields whose initial values do not fit their types. */
type Misfits<F> = {
  [Name in keyof F]: F[Name] extends { initial: infer Given } ? (Given extends Value<F[Name]> ? never : Name) : never
}[keyof F]

interface ManagedObject<F> {
  fields: F
  /** What a new object has if nothing is given. */
  initial: InitialOf<F>
  /** For `storedRows`: what is kept as it is, and what is true or false. */
  plain: readonly Exclude<MemberOf<F>, FlagOf<F>>[]
  flags: readonly FlagOf<F>[]
  /** The members that can change. */
  changeable: readonly Exclude<MemberOf<F>, OnceOf<F>>[]
  /** The fields of a request, none of them required; null is the same as not given where it is no value. */
  request: RequestOf<F>
  /** Those that can change. */
  changes: Omit<RequestOf<F>, OnceNameOf<F>>
  /** The fields of an answer, for `resource`. */
  answer: ShownOf<F>
  /** The members that a request or a file gives; null counts as missing where it is no value. */
  membersIn(given: Readonly<Record<string, unknown>>): Partial<MembersOf<F>>
  /** The columns by what they hold, for `stored-data`. */
  columns: { users: string; none: string }
}

/** Declares an object that an account sets. */
export const managedObject = <const F extends Fields>(
  fields: F,
  ..._misfits: [Misfits<F>] extends [never] ? [] : [{ initialValuesThatDoNotFit: Misfits<F> }]
): ManagedObject<F> => {
  const entries = Object.entries<ManagedField>(fields).map(([name, field]) => ({
    name,
    field,
    member: field.member ?? camel(name),
    takesNull: takesNull(field.type),
  }))
  const membersWhere = (wanted: (field: ManagedField) => boolean) =>
    entries.filter(({ field }) => wanted(field)).map(({ member }) => member)
  const columnsWhere = (wanted: (field: ManagedField) => boolean) => membersWhere(wanted).map(snake).join(' ')
  const withInitial = entries.filter(({ field }) => 'initial' in field)
  const fieldsBy = (made: (field: ManagedField) => unknown) => Object.fromEntries(entries.map(({ name, field }) => [name, made(field)]))
  const request = fieldsBy((field) => nullish(field.type).describe(docWithDefault(field)))
  return {
    fields,
    initial: Object.fromEntries(withInitial.map(({ member, field }) => [member, field.initial])),
    plain: membersWhere((field) => !isFlag(field.type)),
    flags: membersWhere((field) => isFlag(field.type)),
    changeable: membersWhere(({ once }) => once === undefined),
    request,
    changes: Object.fromEntries(Object.entries(request).filter(([name]) => fields[name]?.once === undefined)),
    answer: fieldsBy((field) => field.shown ?? field.type.describe(field.doc)),
    membersIn: (given: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(
        entries
          .filter(({ name, takesNull }) => given[name] !== undefined && (given[name] !== null || takesNull))
          .map(({ name, member }) => [member, given[name]]),
      ),
    columns: { users: columnsWhere(({ ofUsers }) => ofUsers === true), none: columnsWhere(({ ofUsers }) => ofUsers !== true) },
  } as unknown as ManagedObject<F>
}

const takesNull = (type: z.ZodType): boolean => type.safeParse(null).success
const nullish = (type: z.ZodType): z.ZodType =>
  takesNull(type) ? type.optional() : type.nullish().transform((given) => given ?? undefined)
const isFlag = (type: z.ZodType): boolean => type instanceof z.ZodBoolean

/** What a field means, and what it is if it is not given. */
export function docWithDefault({ doc, usual, ...field }: ManagedField): string {
  if (usual !== undefined) return `${doc} Default: ${usual}.`
  return 'initial' in field ? `${doc} Default: ${field.initial === null ? 'none' : String(field.initial)}.` : doc
}
