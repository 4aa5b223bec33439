import { accountOption as account, flagOption, requiredOption, textOption, type Command, type CommandInput } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { templateClient, type TemplateClient } from './template-client.ts'

export const templateCommands: Command[] = [
  {
    name: 'template push',
    args: ['FILE…'],
    options: {
      account,
      publish: { type: 'boolean', doc: 'Publishes them too, layouts and partials first.' },
    },
    doc:
      'Creates or updates templates from HTML files, as React Email, MJML or an editor writes them. welcome.html becomes the ' +
      'template with the alias welcome. Optional files next to it are welcome.txt (its text), welcome.subject, and welcome.json ' +
      'with any of name, from, reply_to, layout and variables, as in the API; whatever has no file stays unchanged. A new template ' +
      'without a subject takes the <title>. Templates that are already the same are skipped, so you can run it again. A file that ' +
      'fails does not stop the others.',
    async run(input, services) {
      const { pushTemplates } = await import('./push-templates.ts')
      return pushTemplates(clientOf(input, services), { files: input.args, cwd: input.cwd, isPublished: flagOption(input, 'publish') })
    },
  },
  {
    name: 'template pull',
    args: ['[ALIAS…]'],
    options: {
      account,
      directory: { type: 'string', value: 'DIR', doc: 'Where the files are written; here unless given.' },
      overwrite: { type: 'boolean', doc: 'Replaces files that differ, and removes those of parts that the template does not have.' },
    },
    doc:
      'Writes templates (by default all of the account) into the files that push reads: their newest versions, published or not. A ' +
      'template without an alias is named by its id.',
    reads: true,
    async run(input, services) {
      const { pullTemplates } = await import('./pull-templates.ts')
      return pullTemplates(clientOf(input, services), {
        names: input.args,
        cwd: input.cwd,
        directory: textOption(input, 'directory') ?? '.',
        isOverwriting: flagOption(input, 'overwrite'),
      })
    },
  },
]

const clientOf = (input: CommandInput, { accounts, perform }: CommandServices): TemplateClient =>
  templateClient(perform, accounts.getAccount(requiredOption(input, 'account')).id)
