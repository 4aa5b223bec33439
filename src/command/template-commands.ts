import { accountOption as account, flagOption, requiredOption, textOption, type Command } from './command.ts'

export const templateCommands: Command[] = [
  {
    name: 'template push',
    args: ['FILE…'],
    options: {
      account,
      publish: { type: 'boolean', doc: 'Publishes them too, layouts and partials before what they stand in.' },
    },
    doc:
      'Makes templates of HTML files, as React Email, MJML or an editor writes them, or changes their drafts: ' +
      'welcome.html is the template ' +
      'with the alias welcome. Beside it may lie welcome.txt (its text), welcome.subject, and welcome.json with any of name, from, ' +
      'reply_to, layout and variables, as the API has them; what does not lie there stays as it is. A new template ' +
      'without a subject takes ' +
      'the <title>. What is the same already is left alone, so it may be run again. Files that fail do not keep the ' +
      'others from being taken.',
    async run(input, { accounts, templates }) {
      // What checks requests is not needed by other commands, which start sooner without it.
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
      overwrite: { type: 'boolean', doc: 'Replaces files that differ, and removes those of a part that the template has not.' },
    },
    doc:
      'Writes templates, all of the account unless some are named, into the files that push reads: their newest versions, published or ' +
      'not. One without an alias is called by its id.',
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
