import { SternaError } from '../../platform/errors.ts'
import { closedStore } from '../../platform/store/closed-store.ts'
import type { StorePlace } from '../../platform/store/open-store.ts'
import { needOf, type Command, type CommandInput } from './command.ts'

/**
 * Refuses a command that needs a server's data where there is none. Whoever meant the data of a server must learn that this is not where
 * they are, before anything is made here.
 * @throws SternaError `not_found`
 */
export async function requireData(command: Command, input: CommandInput, config: StorePlace): Promise<void> {
  if (!['any data', 'data'].includes(needOf(command, input)) || !(await closedStore(config).isNew())) return
  throw new SternaError(
    'not_found',
    `There is no server's data in ${config.store.url === null ? config.dataDir : 'the database of store.url'}. Start the server first. ` +
      'If there is one elsewhere, give this command its settings: the same STERNA_DATA_DIR or STERNA_STORE_URL, or the same --config.',
  )
}
