import { accountOption as account, flagOption, requiredOption, textOption, type Command } from './command.ts'

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
    async run(input, { accounts, templates }) {
      // Other commands do not need request validation, and start faster without it.
      const { pushTemplates } = await import('./push-templates.ts')
      const accountId = accounts.getAccount(requiredOption(input, 'account')).id
      return pushTemplates(templates, { accountId, files: input.args, cwd: input.cwd, isPublished: flagOption(input, 'publish') })
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
    async run(input, { accounts, templates }) {
      const { pullTemplates } = await import('./pull-templates.ts')
      const accountId = accounts.getAccount(requiredOption(input, 'account')).id
      const directory = textOption(input, 'directory') ?? '.'
      return pullTemplates(templates, {
        accountId,
        names: input.args,
        cwd: input.cwd,
        directory,
        isOverwriting: flagOption(input, 'overwrite'),
      })
    },
  },
]
