import type { AddressInfo } from 'node:net'
import { SternaError } from '../../platform/errors.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import type { CommandServices } from './command-services.ts'
import type { CommandOutput } from './command.ts'

/** The first account is the owner's; `accounts.default_plan` is for later ones. */
const ownPlan = 'enterprise'

/** Where a server listens, by what the port is for. */
type Addresses = Record<'http' | 'submission' | 'returnPath' | 'metrics', readonly AddressInfo[]>
interface Running {
  services: CommandServices
  addresses: Addresses
}

/**
 * What the person who starts the server sees: where it is, on the first start what to do next, and how to log in while nobody can.
 * @param start the words that start it with another environment; null if its environment is elsewhere
 */
export async function welcome(
  { services, addresses }: Running,
  { version, start }: { version: string; start: string | null },
): Promise<CommandOutput> {
  const { baseUrl } = services.config
  const sandboxKey = await firstKey(services)
  // Each start makes a new link, so a link that others have seen stops working. The log of a server in real use gets none.
  const isInUse = services.apiKeys.hasLive
  const setupToken = isInUse ? null : await services.people.setupLink.renew()
  if (isInUse) await services.people.setupLink.withdraw()
  const setupUrl = setupToken === null ? null : `${baseUrl}/setup/${setupToken}`
  const steps = sandboxKey === null ? '' : firstSteps(sandboxKey, services, start)
  return {
    stdout: `${whereItIs(addresses, services, version)}${steps}${firstLogin(setupUrl, services)}`,
    json: {
      object: 'server',
      version,
      base_url: baseUrl,
      ...Object.fromEntries(
        Object.entries(listening(addresses)).map(([name, places]) => [name === 'returnPath' ? 'return_path' : name, places]),
      ),
      sandbox_key: sandboxKey,
      setup_url: setupUrl,
    },
  }
}

/** Each address that it listens on, `[::]:8080`. */
export const listening = (addresses: Addresses): Record<keyof Addresses, string[]> => ({
  http: addresses.http.map(shownAddress),
  submission: addresses.submission.map(shownAddress),
  returnPath: addresses.returnPath.map(shownAddress),
  metrics: addresses.metrics.map(shownAddress),
})

const shownAddress = ({ address, port }: AddressInfo): string => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`)

function whereItIs(addresses: Addresses, { config }: CommandServices, version: string): string {
  const { http, submission, returnPath, metrics } = listening(addresses)
  const rows: [what: string, where: string[]][] = [
    ['Dashboard', [config.baseUrl]],
    ['API', [`${config.baseUrl}/api`]],
    ['HTTP', http],
    ['Submission (SMTP)', submission],
    ['Returned mail (SMTP)', returnPath],
    ['Metrics', metrics],
  ]
  const lines = rows.map(([what, where]) => `  ${what.padEnd(22)}${where.join(', ')}\n`)
  return `Sterna ${version} is running as ${config.hostname}.\n\n${lines.filter((_, i) => rows[i]?.[1].length).join('')}\n`
}

function firstLogin(setupUrl: string | null, { accounts, people }: CommandServices): string {
  if (people.setupLink.hasOwner) return ''
  const invite = `sterna user invite YOUR-ADDRESS --account ${accounts.list()[0]?.name ?? 'default'} --role owner --operator`
  return setupUrl === null
    ? `Nobody can log in yet. This command prints a link that makes you the owner and operator:\n\n  ${invite}\n\n`
    : `Nobody can log in yet. This link works once and makes you the owner and operator:\n\n  ${setupUrl}\n\n`
}

const nameFirst = (start: string | null): string =>
  start === null
    ? `
  # Set hostname to this machine's name in the DNS, such as mail.YOUR-DOMAIN, and restart.`
    : `
  # Restart with this machine's name in the DNS.
  STERNA_HOSTNAME=mail.YOUR-DOMAIN ${start}`

/** Creates a first account with a sandbox key if there is no account yet. Of several nodes that start at once, one does. */
async function firstKey({ accounts, apiKeys, changes }: CommandServices): Promise<string | null> {
  if (accounts.list().length > 0) return null
  const account = await accounts.create('default', ownPlan).catch((error: unknown) => {
    if (error instanceof SternaError && error.code === 'account_exists') return null
    throw error
  })
  if (account === null) {
    await changes.caughtUp()
    return null
  }
  const { token } = await apiKeys.create({
    accountId: account.id,
    name: 'first start',
    permission: 'full_access',
    sandbox: true,
    printed: true,
  })
  return token
}

const firstSteps = (
  token: string,
  { config }: CommandServices,
  start: string | null,
): string => `There is an account "default" with a sandbox key, which is shown only once. It works
until you create a key for real mail, because this log holds it:

  ${token}

Watch an email go through its whole life without anything leaving this machine:

  KEY=${token}
  ID=$(curl -s ${config.baseUrl}/api/send -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -d '{"from":"me@example.com","to":"delivered@simulator.test","subject":"Hello","html":"<p>It works.</p>"}' \\
    | sed 's/.*"id":"\\([^"]*\\)".*/\\1/'); sleep 1
  curl -s ${config.baseUrl}/api/emails/$ID/events -H "Authorization: Bearer $KEY"

To send for real${start === null ? '' : ', from this directory'}:
${isFullName(config.hostname) ? '' : nameFirst(start)}
  # Publish the records that this prints, and verify them.
  sterna domain add YOUR-DOMAIN --account default
  sterna domain verify YOUR-DOMAIN
  sterna key create --account default

`
