import { commonOptions, ownOptions, usageWords } from '../../src/clients/command/command-line.ts'
import { commandGroups } from '../../src/clients/command/command-list.ts'
import type { Command } from '../../src/clients/command/command.ts'
import { firstSentence, introduction, operationNotes, optionRows } from '../../src/clients/command/help-page.ts'
import { operationCommands } from '../../src/clients/command/operation-commands.ts'
import { wrapWords } from '../../src/clients/command/wrap-text.ts'

/** docs/commands.md */
export function commandsPage(): string {
  return [
    '# Commands',
    '',
    '<!-- Generated from src/clients/command/ by `npm run docs`; edit those files. -->',
    '',
    'Run them as `sterna …` where the executable is installed, as `npx sterna …` in a checkout, or as `docker exec CONTAINER sterna …`',
    'for a running container.',
    '',
    ...introduction,
    '',
    'A list in JSON is `{"object": "list", "has_more": false, "data": […]}`; `has_more` says whether it goes on. An error is one line of',
    'JSON on standard error, with the members that errors of the API have: `statusCode`, `name`, `message`, and `errors` if there are',
    'several.',
    '',
    ...commandGroups.flatMap(({ title, commands: of }) => [`## ${title}`, '', ...of.flatMap(sectionOn)]),
    '## API',
    '',
    operationNotes,
    '',
    ...operationCommands().map((command) => `- \`${usageWords(command).join(' ').replace('sterna ', '')}\`: ${firstSentence(command.doc)}`),
    '',
    '## Every command',
    '',
    'Every command also takes:',
    '',
    ...optionRows(commonOptions).map(([usage, doc]) => `- \`${usage}\`: ${doc}`),
    '',
  ].join('\n')
}

function sectionOn(command: Command): string[] {
  const options = optionRows(ownOptions(command)).map(([usage, doc]) => `- \`${usage}\`: ${doc}`)
  const usage = wrapWords(usageWords(command), 4)
  return [`### ${command.name}`, '', '```', usage, '```', '', command.doc, '', ...options, ...(options.length > 0 ? [''] : [])]
}
