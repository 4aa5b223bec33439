import { accountCommands } from './account-commands.ts'
import { accountPolicyCommands } from './account-policy-commands.ts'
import { backupCommands } from './backup-commands.ts'
import type { Command } from './command.ts'
import { configCommands } from './config-commands.ts'
import { doctorCommands } from './doctor-commands.ts'
import { domainCommands } from './domain-commands.ts'
import { eraseCommands } from './erase-command.ts'
import { feedbackCommands } from './feedback-commands.ts'
import { healthCommands } from './health-command.ts'
import { importCommands } from './import-commands.ts'
import { keyCommands } from './key-commands.ts'
import { logCommands } from './log-commands.ts'
import { messageCommands } from './message-commands.ts'
import { nodeCommands } from './node-commands.ts'
import { operationCommands } from './operation-commands.ts'
import { queueCommands } from './queue-commands.ts'
import { replyCommands } from './reply-commands.ts'
import { reportCommands } from './report-commands.ts'
import { rotateCommands } from './rotate-command.ts'
import { routeCommands } from './route-commands.ts'
import { sendTestCommands } from './send-test-command.ts'
import { smarthostCommands } from './smarthost-commands.ts'
import { storeCommands } from './store-commands.ts'
import { suppressionCommands } from './suppression-commands.ts'
import { templateCommands } from './template-commands.ts'
import { tlsReportCommands } from './tls-report-commands.ts'
import { trackingCommands } from './tracking-commands.ts'
import { upgradeCommands } from './upgrade-command.ts'
import { userCommands } from './user-commands.ts'
import { webhookCommands } from './webhook-commands.ts'

/** Every command, in groups and in the order of the help page. main.ts runs those without `run`. */
export const commandGroups: readonly { title: string; commands: readonly Command[] }[] = [
  {
    title: 'Server',
    commands: [
      { name: 'serve', needs: 'directory', args: [], options: {}, doc: 'Starts the relay; SIGTERM or Ctrl-C stops it.' },
      ...healthCommands,
      ...doctorCommands,
      ...nodeCommands,
      ...configCommands,
      ...logCommands,
      ...backupCommands,
      ...storeCommands,
      ...upgradeCommands,
      ...rotateCommands,
    ],
  },
  { title: 'Accounts, keys and users', commands: [...accountCommands, ...accountPolicyCommands, ...keyCommands, ...userCommands] },
  { title: 'Domains', commands: domainCommands },
  { title: 'Webhooks', commands: webhookCommands },
  { title: 'Templates', commands: templateCommands },
  {
    title: 'Mail',
    commands: [
      ...sendTestCommands,
      ...messageCommands,
      ...queueCommands,
      ...reportCommands,
      ...tlsReportCommands,
      ...routeCommands,
      ...smarthostCommands,
    ],
  },
  { title: 'Recipients', commands: [...suppressionCommands, ...importCommands, ...eraseCommands] },
  {
    title: 'Tools',
    commands: [
      ...feedbackCommands,
      ...replyCommands,
      ...trackingCommands,
      {
        name: 'bench',
        needs: 'nothing',
        args: [],
        options: {},
        doc: 'Measures how fast this machine accepts and delivers mail, on loopback.',
      },
      { name: 'version', needs: 'nothing', args: [], options: {}, doc: 'Prints the version.' },
      { name: 'help', needs: 'nothing', args: ['[COMMAND…]'], options: {}, doc: 'Prints this page, or the options of one command.' },
    ],
  },
]

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands)

/** What the names of commands for single operations begin with. */
export const operationWord = 'api'

/** The commands among which this word is looked for. */
export const commandsFor = (word: string): readonly Command[] => (word === operationWord ? operationCommands() : commands)
