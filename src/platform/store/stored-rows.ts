import { snake } from '../letter-case.ts'
import type { Row, Statement, Value } from './database.ts'

type MembersOf<T, Kind> = { [Member in keyof T]-?: T[Member] extends Kind ? Member : never }[keyof T] & string

type Missing<T, Declared> = Exclude<keyof T, Declared>

/** How objects are kept as the rows of a table: a member's column has its name in snake case. */
interface StoredRows<T> {
  /** For `select`. */
  columns: string
  /** The parameters of `params` in the order of the columns, for `values` or `select`. */
  parameters: string
  /** Writes these members, for `update … set`. */
  assignments(members: readonly (keyof T & string)[]): string
  read(row: Row): T
  /** Each member as its column holds it, under its own name. */
  params(object: T): Record<string, Value>
  insert(object: T): Statement
}

/**
 * Declares the rows of a table by the members of the objects in it. All must be named.
 * @returns takes the members that are kept as they are, and those that are true or false, kept as 1 or 0
 */
export const storedRows =
  <T extends object>(table: string) =>
  <const Plain extends readonly MembersOf<T, Value>[], const Flag extends readonly MembersOf<T, boolean>[]>(
    plain: Plain,
    flags: Flag,
    ..._missing: [Missing<T, Plain[number] | Flag[number]>] extends [never] ? [] : [Missing<T, Plain[number] | Flag[number]>]
  ): StoredRows<T> => {
    const members: readonly string[] = [...plain, ...flags]
    const isFlag = new Set<string>(flags)
    const columns = members.map(snake)
    const parameters = members.map((member) => `:${member}`).join(', ')
    const sql = `insert into ${table} (${columns.join(', ')}) values (${parameters})`
    const read = (row: Row): object =>
      Object.fromEntries(
        members.map((member, place) => {
          const stored = row[columns[place] as string]
          return [member, isFlag.has(member) ? stored === 1 : stored]
        }),
      )
    const params = (object: T): Record<string, Value> => {
      const values = object as Record<string, Value | boolean>
      return Object.fromEntries(members.map((member) => [member, isFlag.has(member) ? Number(values[member]) : (values[member] as Value)]))
    }
    const insert = (object: T): Statement => ({ sql, params: params(object) })
    const assignments = (written: readonly string[]): string => written.map((member) => `${snake(member)} = :${member}`).join(', ')
    return { columns: columns.join(', '), parameters, assignments, read: read as (row: Row) => T, params, insert }
  }
