import { basename, dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { validate } from '../../api/operation/validate.ts'
import { changedTemplateFields, templateChangesSchema } from '../../api/resource/template-schema.ts'
import { decodeEntities } from '../../mail/message/html-entities.ts'
import { templateName } from '../../mail/template/parse-template.ts'
import { publishingOrder } from '../../mail/template/publishing-order.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { usedBy } from '../set-up/template-uses.ts'
import { listObject, printable, type CommandOutput } from './command.ts'
import type { TemplateAnswer, TemplateClient } from './template-client.ts'
import { textOfFile } from './template-files.ts'

/** What to push, and from where. */
interface Push {
  files: string[]
  /** Where relative paths start. */
  cwd: string
  isPublished: boolean
}

interface Pushed {
  /** Alias or id. */
  name: string
  template: TemplateAnswer
  state: 'created' | 'updated' | 'unchanged'
  /** The version number that it has once published, and whether it already was. */
  publication: string
}

/** Takes each file by itself: reports what is wrong with one, and goes on with the others. */
export async function pushTemplates(client: TemplateClient, push: Push): Promise<CommandOutput> {
  const pushed: Pushed[] = []
  const faults: { name: string; message: string }[] = []
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof SternaError)) throw error
      const [, ...more] = error.faults ?? []
      for (const message of [messageOf(error), ...more.map((fault) => fault.message)]) faults.push({ name: what, message })
    }
  }
  for (const file of push.files) {
    await attempt(file, async () => void pushed.push(await pushFile(client, resolve(push.cwd, file))))
  }
  if (push.isPublished) {
    for (const one of inOrder(pushed)) await attempt(one.name, () => publish(client, one))
  }
  const lines = pushed.map(({ name, state, publication }) => `${name} ${state}${publication}\n`)
  const outdated = push.isPublished ? await outdatedBy(client, pushed) : []
  return {
    stdout: lines.join(''),
    json: { ...listObject(pushed.map(pushedObject)), errors: faults, outdated },
    stderr: [...faults.map(({ name, message }) => `sterna: ${name}: ${printable(message)}\n`), remarkOn(outdated)].join(''),
    exitCode: faults.length > 0 ? 1 : 0,
  }
}

const pushedObject = ({ name, template: { id, version }, state }: Pushed): object => ({ object: 'template', id, name, state, version })

const remarkOn = (outdated: string[]): string =>
  outdated.length === 0 ? '' : `Still published with an older layout or partial, until you publish them again: ${outdated.join(', ')}\n`

async function pushFile(client: TemplateClient, path: string): Promise<Pushed> {
  const name = basename(path).replace(/\.html?$/i, '')
  if (name === basename(path)) throw new SternaError('invalid_parameter', 'Push a template as its HTML file, whose name ends with .html.')
  if (!templateName.test(name)) {
    throw new SternaError('invalid_parameter', 'The file name becomes the alias. Use a-z, 0-9, _ and -, at most 64 of them before .html.')
  }
  const given = await fieldsIn(path, join(dirname(path), name))
  const before = await client.get(name).catch((error: unknown) => {
    if (error instanceof SternaError && error.code === 'not_found' && !name.startsWith('tpl_')) return null
    throw error
  })
  if (before === null) {
    const { id } = await client.create({ name, alias: name, subject: titleIn(given.html), ...given })
    return { name, template: await client.get(id), state: 'created', publication: '' }
  }
  const known = saidBy(before)
  if (isDeepStrictEqual({ ...known, ...saidBy(given) }, known)) return { name, template: before, state: 'unchanged', publication: '' }
  await client.update(before.id, given)
  return { name, template: await client.get(before.id), state: 'updated', publication: '' }
}

/** As the operation would take it, whether it comes from files or is an answer. */
const saidBy = (fields: object) => changedTemplateFields(validate(templateChangesSchema, fields))

/** The keys that a template's JSON file may have. */
const settings = ['name', 'from', 'reply_to', 'layout', 'variables']

/** What the files of a template say, in the API's form. @param stem their path without the file name's ending */
async function fieldsIn(path: string, stem: string): Promise<{ html: string; [field: string]: unknown }> {
  const html = await textOfFile(path)
  if (html === null) throw new SternaError('not_found', 'There is no such file.')
  const [text, subject, json] = [await textOfFile(`${stem}.txt`), await textOfFile(`${stem}.subject`), await textOfFile(`${stem}.json`)]
  return {
    ...(json === null ? {} : settingsIn(json, `${basename(stem)}.json`)),
    html,
    ...(text === null ? {} : { text }),
    // Editors end the last line.
    ...(subject === null ? {} : { subject: subject.replace(/\r?\n$/, '') }),
  }
}

function settingsIn(json: string, file: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new SternaError('invalid_parameter', `${file} is not JSON: ${messageOf(error)}.`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SternaError('invalid_parameter', `${file} must hold a JSON object.`)
  const unknown = Object.keys(value).find((field) => !settings.includes(field))
  if (unknown === undefined) return { ...value }
  throw new SternaError('invalid_parameter', `${file} has "${unknown}", which is unknown; allowed are ${settings.join(', ')}.`)
}

/** characters */
const maxSubjectLength = 998

/** The page's title; null if there is none that can serve as a subject. */
function titleIn(html: string): string | null {
  const head = html.slice(0, 64 * 1024)
  const open = /<title(?:\s[^<>]*)?>/i.exec(head)
  if (!open) return null
  const title = /^[^<]*/.exec(head.slice(open.index + open[0].length))?.[0] ?? ''
  const text = decodeEntities(title).replace(/\s+/g, ' ').trim()
  return text === '' || text.length > maxSubjectLength ? null : text
}

/** Layouts and partials before the templates that use them. */
const inOrder = (pushed: Pushed[]): Pushed[] =>
  publishingOrder(pushed.map((item) => ({ item, names: [item.template.alias, item.template.id], uses: usedBy({ ...item.template }) })))

async function publish(client: TemplateClient, one: Pushed): Promise<void> {
  const { id, version: before } = one.template
  const { version } = await client.publish(id)
  one.template = { ...one.template, version }
  one.publication = `, ${version === before ? 'published before' : 'published'} as version ${version}`
}

/** The templates that do not use what was published yet: whoever publishes a layout must learn whose mail does not. */
async function outdatedBy(client: TemplateClient, pushed: Pushed[]): Promise<string[]> {
  const found = (await Promise.all(pushed.map(({ template }) => client.dependents(template.id)))).flat()
  return [...new Set(found.filter((one) => one.is_outdated).map(({ id, alias }) => alias ?? id))]
}
