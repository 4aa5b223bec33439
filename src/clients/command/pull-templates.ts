import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { validate } from '../../api/operation/validate.ts'
import { templateChangesSchema } from '../../api/resource/template-schema.ts'
import type { CommandOutput } from './command.ts'
import type { TemplateAnswer, TemplateClient } from './template-client.ts'
import { templateFileKinds, textOfFile, type TemplateFileKind } from './template-files.ts'
import { writing } from './named-files.ts'

/** Which templates to write, and where. */
interface Pull {
  /** Aliases or ids; none means all. */
  names: string[]
  cwd: string
  directory: string
  isOverwriting: boolean
}

/** Writes the files that `pushTemplates` reads. Leaves files that differ unchanged, unless told to overwrite them. */
export async function pullTemplates(client: TemplateClient, pull: Pull): Promise<CommandOutput> {
  const { names, cwd, directory, isOverwriting } = pull
  const folder = resolve(cwd, directory)
  await writing(folder, () => mkdir(folder, { recursive: true }))
  const written: string[] = []
  const removed: string[] = []
  const kept: string[] = []
  for (const name of names.length > 0 ? names : await client.list()) {
    const template = await client.get(name)
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

/** Null: there is no such file. */
function textFor(kind: TemplateFileKind, template: TemplateAnswer): string | null {
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

/** As a request has them, without empty values. */
function settingsOf(template: TemplateAnswer): object {
  const { name, from, reply_to, layout, variables } = validate(templateChangesSchema, template)
  const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries({ name, from, reply_to, layout, variables }).filter(([, value]) => !isEmpty(value)))
}
