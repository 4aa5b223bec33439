import { typeTitle } from './file-value.ts'
import { setUpFields } from './set-up-fields.ts'
import { objectKinds, sections } from './set-up-object.ts'

/** docs/set-up-file.md */
export function setUpFilePage(): string {
  return [
    '# The fields of a set-up file',
    '',
    '<!-- Generated from src/clients/set-up/set-up-fields.ts by `npm run docs`; edit that file. -->',
    '',
    '[configuration-as-code.md](configuration-as-code.md) explains the file and shows a whole one. `a: {b: 1}` and `a.b: 1` mean the same.',
    'A **reference** says where a value is: `{env: NAME}` or `{file: PATH}`.',
    '',
    ...objectKinds.flatMap((kind) => [
      kind === 'account' ? '## accounts' : `## accounts[].${sections[kind]}`,
      '',
      '| field | value | |',
      '|---|---|---|',
      ...Object.entries(setUpFields[kind]).map(([name, { type, doc, reference }]) => {
        const value =
          reference === 'required'
            ? name === 'token'
              ? typeTitle(type)
              : 'a reference'
            : `${typeTitle(type)}${reference ? ', or a reference' : ''}`
        return `| \`${name}\` | ${value} | ${doc} |`
      }),
      '',
    ]),
  ].join('\n')
}
