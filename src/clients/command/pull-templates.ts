import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { SternaError } from '../../platform/errors.ts'
import type { TemplateList } from '../../mail/template/template-list.ts'
import type { Template } from '../../mail/template/template-store.ts'
import type { CommandOutput } from './command.ts'
import { templateFileKinds, textOfFile, type TemplateFileKind } from './template-files.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** Whose templates to write, which ones, and where. */
interface Pull {
  accountId: string
  /** Aliases or ids; none means all. */
  names: string[]
  cwd: string
  directory: string
  isOverwriting: boolean
}

/** Writes the files that `pushTemplates` reads. Leaves files that differ unchanged, unless told to overwrite them. */
export async function pullTemplates(templates: TemplateList, pull: Pull): Promise<CommandOutput> {
  const { accountId, names, cwd, directory, isOverwriting } = pull
  const folder = resolve(cwd, directory)
  await writing(folder, () => mkdir(folder, { recursive: true }))
  const written: string[] = []
  const removed: string[] = []
  const kept: string[] = []
  for (const name of names.length > 0 ? names : await allOf(templates, accountId)) {
    const template = await templates.get(accountId, name)
    const stem = template.alias ?? template.id
    for (const kind of templateFileKinds) {
      const file = `${stem}.${kind}`
      const path = join(folder, file)
      const text = textFor(kind, template)
      const there = await textOfFile(path)
      if (there === text) continue
      if (there !== null && !isOverwriting) {
        kept.push(file)
        continue
      }
      await writing(path, () => (text === null ? rm(path) : writeFile(path, text)))
      ;(text === null ? removed : written).push(file)
    }
  }
  const remark =
    kept.length === 0 ? '' : `sterna: These files differ and were left unchanged; --overwrite replaces them: ${kept.join(', ')}\n`
  return {
    stdout: [...written.map((file) => `${file}\n`), ...removed.map((file) => `${file} removed\n`)].join(''),
    json: { object: 'template_files', written, removed, kept },
    stderr: remark,
    exitCode: kept.length === 0 ? 0 : 1,
  }
}

async function allOf(templates: TemplateList, accountId: string): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const limit = 100
    const rows = await templates.page(accountId, { limit, after: ids.at(-1) ?? null, before: null })
    ids.push(...rows.slice(0, limit).map(({ id }) => id))
    if (rows.length <= limit) return ids
  }
}

/** Null: there is no such file. */
function textFor(kind: TemplateFileKind, template: Template): string | null {
  switch (kind) {
    case 'html':
      return template.html
    case 'txt':
      return template.text
    case 'subject':
      return template.subject === null ? null : `${template.subject}\n`
    case 'json':
      return `${JSON.stringify(settingsOf(template), null, 2)}\n`
  }
}

/** Leaves out empty values. */
const settingsOf = ({ name, from, replyTo, layout, variables }: Template): object => ({
  name,
  ...(from === null ? {} : { from }),
  ...(replyTo.length === 0 ? {} : { reply_to: replyTo }),
  ...(layout === null ? {} : { layout }),
  ...(variables.length === 0
    ? {}
    : { variables: variables.map(({ key, type, fallbackValue }) => ({ key, type, fallback_value: fallbackValue })) }),
})

async function writing(path: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw new SternaError('invalid_parameter', `${path} cannot be written: ${reasonOf(error)}.`, { cause: error })
  }
}
