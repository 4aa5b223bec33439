import { shownCommand, shownStart } from '../program.ts'
import { isFullName } from '../smtp/domain-name.ts'
import type { CommandServices } from './command-services.ts'
import type { CommandOutput } from './command.ts'

/** The first account is the owner's; `accounts.default_plan` is for later ones. */
const ownPlan = 'enterprise'

const step = (command: string, doc: string): string => `  ${command.padEnd(54)}  ${doc}`

const nameFirst = `\n${step(`STERNA_HOSTNAME=mail.YOUR-DOMAIN ${shownStart}`, "restart with this machine's name in the DNS")}`

/** What the person who starts the server sees: on the first start what to do next, and how to log in while nobody can. */
export async function welcome(services: CommandServices, version: string): Promise<CommandOutput> {
  const { baseUrl } = services.config
  const sandboxKey = await firstKey(services)
  // Each start makes a new link, so a link that others have seen stops working. The log of a server in real use gets none.
  const isInUse = services.apiKeys.hasLive
  const setupToken = isInUse ? null : await services.people.setupLink.renew()
  const setupUrl = setupToken === null ? null : `${baseUrl}/setup/${setupToken}`
  return {
    stdout: `${sandboxKey === null ? '' : firstSteps(sandboxKey, services)}${firstLogin(setupUrl, services)}`,
    json: { object: 'server', version, base_url: baseUrl, sandbox_key: sandboxKey, setup_url: setupUrl },
  }
}

function firstLogin(setupUrl: string | null, { accounts, people }: CommandServices): string {
  if (people.setupLink.hasOwner) return ''
  const invite = `${shownCommand} user invite YOUR-ADDRESS --account ${accounts.list()[0]?.name ?? 'default'} --role owner --operator`
  return setupUrl === null
    ? `Nobody can log in yet. This command prints a link that makes you the owner and operator:\n\n  ${invite}\n\n`
    : `Nobody can log in yet. This link works once and makes you the owner and operator:\n\n  ${setupUrl}\n\n`
}

/** Creates a first account with a sandbox key if there is no account yet. */
async function firstKey({ accounts, apiKeys }: CommandServices): Promise<string | null> {
  if (accounts.list().length > 0) return null
  const account = await accounts.create('default', ownPlan)
  const { token } = await apiKeys.create({
    accountId: account.id,
    name: 'first start',
    permission: 'full_access',
    sandbox: true,
    printed: true,
  })
  return token
}

const firstSteps = (token: string, { config }: CommandServices): string => `
Sterna is running. It has an account "default" with a sandbox key, which is shown only once. It works
until you create a key for real mail, because this log holds it:

  ${token}

Watch an email go through its whole life without anything leaving this machine:

  KEY=${token}
  ID=$(curl -s ${config.baseUrl}/api/send -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
    -d '{"from":"me@example.com","to":"delivered@simulator.test","subject":"Hello","html":"<p>It works.</p>"}' \\
    | sed 's/.*"id":"\\([^"]*\\)".*/\\1/'); sleep 1
  curl -s ${config.baseUrl}/api/emails/$ID/events -H "Authorization: Bearer $KEY"

To send for real, from this directory:
${isFullName(config.hostname) ? '' : nameFirst}
${step(`${shownCommand} domain add YOUR-DOMAIN --account default`, 'publish the records it prints')}
  ${shownCommand} domain verify YOUR-DOMAIN
  ${shownCommand} key create --account default

`
