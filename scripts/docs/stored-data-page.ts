import { columnsIn, storedTables } from '../../src/upkeep/erasure/stored-data.ts'

/** docs/stored-data.md */
export function storedDataPage(): string {
  const rows = Object.entries(storedTables).map(([name, { about, kept, erased, users }]) => {
    const shown = (columns: string | undefined): string => Array.from(columnsIn(columns), (column) => `\`${column}\``).join(', ')
    return `| \`${name}\` | ${about} | ${kept} | ${shown(erased)} | ${shown(users)} |`
  })
  return [
    '# What is stored',
    '',
    '<!-- Generated from src/upkeep/erasure/stored-data.ts by `npm run docs`; edit that file. -->',
    '',
    'Every table of the database. Columns not listed here hold no addresses and no words of mail: ids, times, states, counts, names ' +
      'of hosts and',
    'domains. [privacy.md](privacy.md) explains erasing.',
    '',
    '| table | holds | kept for | erased with a recipient | about those who use the server |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
