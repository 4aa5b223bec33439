import type { Config } from '../../platform/config/settings.ts'
import { SternaError } from '../../platform/errors.ts'
import { closedStore } from '../../platform/store/closed-store.ts'
import { needOf, type Command, type CommandInput } from './command.ts'

/**
 * Refuses a command that needs a server's data where there is none. Whoever meant the data of a server must learn that this is not where
 * they are, before anything is made here.
 * @throws SternaError `not_found`
 */
export function requireData(command: Command, input: CommandInput, { dataDir }: Pick<Config, 'dataDir'>): void {
  if (!['any data', 'data'].includes(needOf(command, input)) || !closedStore(dataDir).isNew()) return
  throw new SternaError(
    'not_found',
    `There is no server's data in ${dataDir}. Start the server first. If there is one elsewhere, give this command its ` +
      'settings: the same STERNA_DATA_DIR or the same --config.',
  )
}
