import { Readable } from 'node:stream'
import { SettingFault } from '../../platform/config/setting-types.ts'
import { RawAnswer } from '../../api/operation/raw-answer.ts'
import { SternaError } from '../../platform/errors.ts'
import { apiOperations } from '../../api/resource/operations.ts'
import type { ApiServices } from '../../api/resource/operation-services.ts'
import type { Operation } from '../../api/operation/operation.ts'
import { asTyped, inWords } from './as-typed.ts'
import { scopeOf, scopeOptions } from './command-scope.ts'
import type { CommandServices } from './command-services.ts'
import {
  printable,
  table,
  textOption,
  usageFault,
  type Command,
  type CommandClient,
  type CommandInput,
  type CommandOption,
  type CommandOutput,
} from './command.ts'
import { fieldsOf, type OperationField } from '../../api/operation/operation-fields.ts'
import { jsonIn, optionFor, optionNameOf, valueOf } from './field-options.ts'

/** What is typed for a field, if it differs from what the field's declaration says. */
interface Typed<O> extends Partial<CommandOption> {
  /** Default: it is no field of the operation. */
  field?: string
  /** The field's value. @throws SettingFault saying what it expects */
  as?(typed: string, owner: O): unknown
}

/** Whose object a command is about. */
interface Owner {
  accountId: string
  /** Default: false. */
  sandbox?: boolean
}

/** What a command's result is made from. */
interface Carried<O> {
  input: CommandInput
  owner: O
  services: CommandServices
}

/** A command that carries out an operation of the API. What it takes, checks, documents and records is what the operation declares. */
export interface ApiCommand<A, O> extends Pick<Command, 'name' | 'asks' | 'choices'> {
  /** The id of the operation. */
  does: string
  /** The operation that answers the same and changes nothing, carried out if nothing is to be changed. */
  shows?: string
  /** Default: what the operation says of itself. */
  doc?: string
  /** The arguments, each with its field. */
  args?: Readonly<Record<string, string | Typed<O>>>
  /** Options whose names or values are not those of the API, each with its field. Null: this field has no option. */
  options?: Readonly<Record<string, string | Typed<O> | null>>
  /** True if fields that are not among `args` and `options` have no option. */
  onlyNamed?: true
  /** Values of fields of the body that are not given. */
  sets?: Readonly<Record<string, unknown>>
  /** True if it has `--sandbox`. */
  sandbox?: true
  /** True if it takes fields that have no option, with `--body`. */
  takesBody?: true
  /** Default: the account that `--account` names, which is then required. */
  of?(input: CommandInput, services: CommandServices): O
  /** True if it shows all of a list, however many pages. */
  whole?: true
  /** What to show in place of an object that does not exist. Default: an error. */
  absent?(input: CommandInput): A
  /** The columns of a list, each with its cell of a row. */
  columns?: Readonly<Record<string, (row: A extends { data: (infer Row)[] } ? Row : never, carried: Carried<O>) => string>>
  /** What is printed; default: the columns, else the answer as JSON. */
  show?(answer: A, carried: Carried<O>): Partial<CommandOutput> | Promise<Partial<CommandOutput>>
}

/** Where the command line has a field. */
interface Place<O> {
  field: OperationField
  /** As errors name it: `--url`, `URL`. */
  typed: string
  read(input: CommandInput): unknown
  as: ((typed: string, owner: O) => unknown) | undefined
  /** Undefined for an argument. */
  option: CommandOption | undefined
}

/** Makes it when it is first asked for. */
export const once = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** Every operation, as it is declared. */
export const declaredOperations = once(() => new Map(apiOperations({} as ApiServices).map((declared) => [declared.id, declared])))

/** A command for an operation. Its options are not made before somebody asks for them. */
export function apiCommand<A = unknown, O extends Owner = Owner>(command: ApiCommand<A, O>): Command {
  const declared = once(() => {
    const found = declaredOperations().get(command.does)
    if (found) return found
    throw new Error(`there is no operation ${command.does}`)
  })
  const places = once(() => placesOf(command, declared()))
  const options = once(() => optionsOf(command, places()))
  return {
    name: command.name,
    args: Object.keys(command.args ?? {}),
    ...(command.asks ? { asks: command.asks } : {}),
    ...(command.choices ? { choices: command.choices } : {}),
    recordsItself: true,
    get options() {
      return options()
    },
    get doc() {
      return command.doc ?? docOf(declared())
    },
    get reads() {
      return declared().method === 'GET'
    },
    run: (input, services, client) => carryOut(command, places(), { input, services, client }),
  }
}

const docOf = ({ summary, description = '' }: Operation): string =>
  `${summary}. ${description}`.replaceAll('`', '').replace(/\s+/g, ' ').trim()

function placesOf<A, O>({ args = {}, options = {}, ...command }: ApiCommand<A, O>, declared: Operation): Place<O>[] {
  const fields = new Map(fieldsOf(declared).map((field) => [field.name, field]))
  if (command.whole) for (const paging of ['limit', 'after', 'before']) fields.delete(paging)
  const take = (name: string): OperationField => {
    const field = fields.get(name)
    if (!field) throw new Error(`the operation ${declared.id} has no field ${name}`)
    fields.delete(name)
    return field
  }
  const ofArgs = Object.entries(args).map(([arg, named], i): Place<O> => {
    const { field, as } = typedOf(named)
    const read = ({ args: words }: CommandInput) => (arg.includes('…') ? words : words[i])
    return { field: take(field ?? ''), typed: arg.replace(/[[\]…]/g, ''), read, as, option: undefined }
  })
  const optionPlace = (name: string, field: OperationField, named: Typed<O> = {}): Place<O> => {
    const { as, field: _, ...own } = named
    const isSet = field.name in (command.sets ?? {})
    const standard = own.type ? {} : optionFor(isSet ? { ...field, isRequired: false } : field, name)
    const option = { ...standard, ...own } as CommandOption
    return { field, typed: `--${name}`, read: (input) => input.options[name], as, option }
  }
  const renamed = Object.entries(options).flatMap(([name, named]) => {
    const { field, ...typed } = typedOf(named)
    return field === undefined ? [] : [optionPlace(name, take(field), typed)]
  })
  const others = command.onlyNamed ? [] : [...fields.values()].filter(({ name }) => !(optionNameOf(name) in options))
  return [...ofArgs, ...renamed, ...others.map((field) => optionPlace(optionNameOf(field.name), field))]
}

const typedOf = <O>(named: string | Typed<O> | null): Typed<O> => (typeof named === 'string' ? { field: named } : (named ?? {}))

const wholeBody = { type: 'string', value: 'JSON', doc: 'The whole body as JSON. Options take the place of its fields.' } as const

function optionsOf<A, O>({ options = {}, of, sandbox, takesBody }: ApiCommand<A, O>, places: readonly Place<O>[]): Command['options'] {
  const own = Object.entries(options).flatMap(([name, named]) => {
    const { field, as: _, ...option } = typedOf(named)
    return named === null || field !== undefined ? [] : [[name, option]]
  })
  const named = (field: string) => places.find((place) => place.field.name === field)?.typed
  const ofFields = places.flatMap(({ typed, option }) =>
    option ? [[typed.slice(2), { ...option, doc: inWords(option.doc, named).replaceAll('`', '') }]] : [],
  )
  const scope = { ...(of ? {} : { account: scopeOptions.account }), ...(sandbox ? { sandbox: scopeOptions.sandbox } : {}) }
  return { ...scope, ...Object.fromEntries([...own, ...ofFields]), ...(takesBody ? { body: wholeBody } : {}) } as Command['options']
}

async function carryOut<A, O extends Owner>(
  command: ApiCommand<A, O>,
  places: readonly Place<O>[],
  { input, services, client }: Pick<Carried<O>, 'input' | 'services'> & { client: CommandClient },
): Promise<CommandOutput> {
  const owner = command.of?.(input, services) ?? (scopeOf(input, services) as O)
  const scope = { accountId: owner.accountId, sandbox: owner.sandbox ?? false }
  const call = { scope, ...callOf(command, places, { input, owner }) }
  const does = command.shows !== undefined && Object.keys(call.body).length === 0 ? command.shows : command.does
  const perform = async (more: Record<string, string> = {}): Promise<unknown> => {
    try {
      return await services.perform(does, { ...call, query: { ...call.query, ...more } })
    } catch (error) {
      if (command.absent && error instanceof SternaError && error.code === 'not_found') return command.absent(input)
      throw asTyped(error, (name) => places.find(({ field }) => field.name === name)?.typed)
    }
  }
  const answer = (command.whole ? await everyPage(perform) : await perform()) as A
  if (answer instanceof RawAnswer) return printedText(answer, client)
  const carried = { input, owner, services }
  return { ...printed(answer, command, carried), ...(await command.show?.(answer, carried)) }
}

/** The parts of a request, as the command line gives them. */
function callOf<A, O>(
  { sets = {}, takesBody }: ApiCommand<A, O>,
  places: readonly Place<O>[],
  { input, owner }: Pick<Carried<O>, 'input' | 'owner'>,
) {
  const whole = takesBody ? textOption(input, 'body') : undefined
  const body = whole === undefined ? { ...sets } : (jsonIn(whole, '--body') as object)
  const parts = { params: {} as Record<string, string>, query: {} as Record<string, string>, body }
  for (const { field, typed, read, as } of places) {
    const given = read(input)
    if (given === undefined) continue
    try {
      const value = as ? as(String(given), owner) : typeof given === 'string' ? valueOf(given, field, typed) : given
      Object.assign(parts[field.place], { [field.name]: value })
    } catch (error) {
      throw error instanceof SettingFault ? usageFault(`${typed}: ${error.message}`) : error
    }
  }
  return parts
}

interface ListAnswer {
  object: 'list'
  has_more: boolean
  data: { id?: string }[]
  /** Where a search ended that took too long. */
  stopped_at?: { id: string }
}

/** A list with all of its pages. */
export async function everyPage(page: (query: Record<string, string>) => Promise<unknown>): Promise<ListAnswer> {
  const data: ListAnswer['data'] = []
  for (let after: Record<string, string> = {}; ;) {
    const answer = (await page({ limit: '100', ...after })) as ListAnswer
    data.push(...answer.data)
    if (!answer.has_more) return { ...answer, data }
    after = { after: answer.data.at(-1)?.id ?? '' }
  }
}

/** Text as it comes: a file, or a stream that ends when nobody waits any longer. */
async function printedText({ body }: RawAnswer, { tell, signal }: CommandClient): Promise<CommandOutput> {
  if (!(body instanceof Readable)) return { stdout: String(body ?? ''), json: undefined }
  signal.addEventListener('abort', () => body.destroy())
  try {
    for await (const text of body.setEncoding('utf8')) await tell({ stdout: String(text) })
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return { stdout: '', json: undefined }
}

function printed<A, O>(answer: A, { columns }: ApiCommand<A, O>, carried: Carried<O>): CommandOutput {
  if (!columns) return { stdout: `${JSON.stringify(answer, null, 2)}\n`, json: answer }
  const { data, has_more: hasMore, stopped_at: last = data.at(-1) } = answer as ListAnswer
  const rows = data.map((row) => Object.values(columns).map((cell) => printable(cell(row as never, carried))))
  const stderr = hasMore ? `More: --after ${last?.id}\n` : ''
  return { stdout: table([Object.keys(columns), ...rows]), json: answer, stderr }
}
