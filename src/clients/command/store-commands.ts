import type { Command } from './command.ts'

/** What stands for the URL of the settings. */
export const ofSettings = 'store.url'

export const storeCommands: Command[] = [
  {
    name: 'store copy',
    needs: 'settings',
    advises: true,
    args: [],
    options: {
      to: { type: 'string', value: 'URL', doc: 'Copies the files of the data directory into this database: postgres://…, or store.url.' },
      from: { type: 'string', value: 'URL', doc: 'Copies this database into files of the data directory: postgres://…, or store.url.' },
    },
    doc:
      'Copies all data from the files of the data directory into an empty database of PostgreSQL, or back, and compares each row. Stop all ' +
      'servers first. It is all or nothing, and no server starts on what was copied afterwards, so that no mail is sent twice. The word ' +
      `${ofSettings} stands for the URL of that setting, which may come from a variable or a file, so that nobody sees its password.`,
  },
  {
    name: 'store reopen',
    needs: 'any data',
    advises: true,
    args: [],
    options: {},
    asks: () => 'Mail may have been sent from the copy since. Go on with this data all the same?',
    doc:
      'Lets a server start again on data that "store copy" has copied elsewhere. Mail that is queued in it is held until sterna queue ' +
      'release --restored, because it may have been sent from the copy.',
  },
]
