import { loadConfig } from '../../src/platform/config/load-config.ts'
import { openCommandServices } from '../../src/clients/command/open-command-services.ts'
import { silentLog } from '../../src/platform/log.ts'
import { rowsIn } from './database-rows.ts'
import { NotStarted, type Ending, type ServerUnderTest } from './server-under-test.ts'

/**
 * What became of a state that a power cut left: `whole`: it started with everything; `refused`: it did not, and said why;
 * `lost`: something is missing; `empty`: it started as if there had never been anything; `damaged`: it is not sound, or the
 * key does not fit; `crashed`: it ended without words for an operator.
 */
export type Fate = 'whole' | 'refused' | 'lost' | 'empty' | 'damaged' | 'crashed'

export interface Verdict {
  fate: Fate
  words: string
}

/** A database holds these: the local parts of recipients, and `account NAME`. */
export type Things = readonly string[]

/** Starts a real server on the directory, kills it, and looks at what it has: one of `alternatives` has to be there. */
export async function examineByStart(prepared: ServerUnderTest, directory: string, alternatives: Things[]): Promise<Verdict> {
  const server = await prepared.on(directory)
  const ending = await server.start().then(() => null, endingOf)
  await server.end('SIGKILL')
  return ending === null ? examineContents(server, directory, alternatives) : judgeEnding(ending)
}

const endingOf = (error: unknown): Ending =>
  error instanceof NotStarted ? error.ending : { code: null, stdout: '', stderr: String(error) }

/** What SQLite says by itself tells neither which file is meant nor what to do. */
const bareWords =
  /^sterna: (?:disk I\/O error|unable to open database file|database disk image is malformed|file is not a database|attempt to write a readonly database|database is locked)$/m

/** An ending that is no success: `refused` where its words are for people. */
export function judgeEnding({ code, stderr }: Ending): Verdict {
  const words = stderr.trim()
  const isForPeople = code !== null && code !== 0 && words !== '' && !/^\s+at .+:\d+/m.test(words) && !bareWords.test(words)
  return { fate: isForPeople ? 'refused' : 'crashed', words: `exit code ${code}: ${words.slice(0, 600)}` }
}

async function examineContents(server: ServerUnderTest, directory: string, alternatives: Things[]): Promise<Verdict> {
  const rows = rowsIn(directory)
  const sound = rows<{ integrity_check: string }>('pragma integrity_check')
    .map((row) => row.integrity_check)
    .join(' ')
  if (sound !== 'ok') return { fate: 'damaged', words: sound.slice(0, 300) }
  const broken = rows<{ n: number }>(
    'select count(*) as n from recipient r left join content c on c.message_id = r.message_id and c.chunk = 0 where c.bytes is null',
  )
  if (broken[0]?.n !== 0) return { fate: 'damaged', words: `${broken[0]?.n} recipients have a message without content` }
  const keys = await openKeys(server.environment).then(() => '', String)
  if (keys !== '') return { fate: 'damaged', words: keys }
  const found = new Set(thingsIn(directory))
  const missing = alternatives.map((things) => things.filter((thing) => !found.has(thing)))
  if (missing.length === 0 || missing.some(({ length }) => length === 0)) return { fate: 'whole', words: '' }
  const least = missing.toSorted((one, another) => one.length - another.length)[0] as Things
  const fate = least.some((thing) => thing.startsWith('account ')) ? 'empty' : 'lost'
  return { fate, words: `${least.length} missing: ${least.slice(0, 5).join(', ')}` }
}

export function thingsIn(directory: string): string[] {
  const rows = rowsIn(directory)
  const recipients = rows<{ forward_path: string }>('select forward_path from recipient').map(
    ({ forward_path }) => forward_path.split('@')[0] as string,
  )
  return [...recipients, ...rows<{ name: string }>('select name from account').map(({ name }) => `account ${name}`)]
}

/** Opens every DKIM key with the key file in place. */
async function openKeys(environment: NodeJS.ProcessEnv): Promise<void> {
  const { services, close } = await openCommandServices(loadConfig({ env: environment }), silentLog)
  try {
    for (const { keys } of services.sendingDomains.list()) for (const { id } of keys) services.sendingDomains.privateKey(id)
  } finally {
    await close()
  }
}
