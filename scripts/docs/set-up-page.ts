import type { z } from 'zod'
import { definitionOf } from '../../src/api/operation/mistyped.ts'
import { partsOf } from '../../src/clients/set-up/file-value.ts'
import { setUpFields } from '../../src/clients/set-up/set-up-fields.ts'
import { objectKinds, sections } from '../../src/clients/set-up/set-up-object.ts'

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

/** What the documentation calls the values of a type. */
function typeTitle(type: z.ZodType): string {
  const { type: kind, innerType, in: before, element, options = [] } = definitionOf(type)
  const title = type.meta()?.title
  if (title !== undefined) return title
  if (type.meta()?.['format'] === 'date-time') return 'time'
  if (kind === 'nullable' && innerType) return `${typeTitle(innerType)}, or none`
  const inner = innerType ?? before
  if (inner) return typeTitle(inner)
  const titles: Record<string, () => string> = {
    boolean: () => 'true or false',
    number: () => 'whole number',
    enum: () => `one of ${(type as z.ZodEnum).options.join(', ')}`,
    literal: () => [...(type as z.ZodLiteral).values].join(', '),
    array: () => `list of: ${element ? typeTitle(element) : 'text'}`,
    object: () => `{${Object.keys(partsOf(type) ?? {}).join(', ')}}`,
    union: () => options.map(typeTitle).join(', '),
  }
  return titles[kind]?.() ?? 'text'
}
