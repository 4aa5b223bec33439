import { latencyColumns } from '../../readers/analytics/latency.ts'
import { countedMetrics } from '../../readers/analytics/metric.ts'
import { apiKeyObject } from '../../senders/account/api-key-object.ts'
import { domainObject } from '../../senders/sending-domain/domain-object.ts'
import { routeObject } from '../../mail-out/smarthost/route-object.ts'
import { smarthostObject } from '../../mail-out/smarthost/smarthost-object.ts'
import { webhookObject } from '../../notify/webhook/webhook-object.ts'

/**
 * What a table holds: its columns by what they may reveal about recipients of mail, each named once. A test compares it with the schema, so
 * every new column has to be considered: if it may hold an address or words of a mail, it must be erased too.
 */
interface StoredTable {
  /** What is in it, in words. */
  about: string
  /** How long a row stays: a setting, or in words. */
  kept: string
  /** May name a recipient, or hold what was sent to one: erasing an address removes or replaces it. */
  erased?: string
  /** About those who use the server: an account writes its templates, an operator has an address. Erasing a recipient does not touch it. */
  users?: string
  /** Never an address or words of a mail: ids, times, states, counts, names of hosts and domains. */
  none?: string
}

const whileUsed = 'until it is removed'

export const storedTables: Record<string, StoredTable> = {
  account: { about: 'accounts', kept: whileUsed, users: 'name', none: 'id plan status slowed_until harm created_at' },
  api_key: {
    about: 'API keys, as digests',
    kept: whileUsed,
    users: apiKeyObject.columns.users,
    none: `${apiKeyObject.columns.none} id account_id prefix digest created_at last_used_at revoked_at previous_digest previous_expires_at printed revision`,
  },
  domain: {
    about: 'sending domains',
    kept: whileUsed,
    users: `${domainObject.columns.users} removed_name`,
    none: `${domainObject.columns.none} id account_id status return_path_seen checked_at verified_at missing_since created_at removed_at app_links revision`,
  },
  domain_record: {
    about: 'what was found in the DNS for them',
    kept: whileUsed,
    users: 'found',
    none: 'domain_id kind status reason checked_at',
  },
  dkim_key: {
    about: 'their keys, the private ones sealed',
    kept: whileUsed,
    none: 'id domain_id selector algorithm public_key private_key seen_at created_at state keep_until',
  },
  message: {
    about: 'emails without their content',
    kept: '`event_retention`',
    erased: 'reverse_path header_from header_to header_cc reply_to subject message_id_header envid tags metadata author',
    users: 'unsubscribe_topic',
    none: 'id account_id domain_id source sandbox size body_type smtputf8 ret scheduled_at expires_in created_at template_id tracking transfer',
  },
  message_tag: { about: 'their tags, to be found by', kept: '`event_retention`', erased: 'name value', none: 'account_id message_id' },
  upload: { about: 'emails that are still coming in', kept: 'until they are complete', none: 'message_id owner' },
  content: { about: 'the content of emails', kept: '`content_retention`', erased: 'bytes', none: 'message_id chunk crc32' },
  recipient: {
    about: 'the recipients of emails',
    kept: '`event_retention`',
    erased: 'forward_path destination orcpt last_response',
    none: `id message_id account_id type notify state due_at owner held expires_at absent_since attempts smtp_code enhanced_status sent_at delivered_at
      bounced_at opened_at open_count clicked_at click_count complained_at unsubscribed_at provider encrypted urgent`,
  },
  attempt: {
    about: 'attempts to deliver, with the dialogue',
    kept: '`content_retention`',
    erased: 'reply transcript',
    none: 'id recipient_id message_id started_at duration_ms outcome mx_host address source_address tls selectors smtp_code enhanced_status',
  },
  hit: {
    about: 'opens and clicks, with the network and the program of the reader',
    kept: '`event_retention`',
    erased: 'link ip_address user_agent',
    none: 'id message_id recipient_id type bot bot_reason bot_confidence happened_at event_id',
  },
  shared_hit: { about: 'the same, whole but sealed', kept: '15 minutes', erased: 'request', none: 'id recipient_id happened_at' },
  event: {
    about: 'the event log',
    kept: '`event_retention`',
    erased: 'data',
    none: 'seq id account_id message_id recipient_id type sandbox created_at bot',
  },
  event_block: {
    about: 'where the log has events of a type',
    kept: '`event_retention`',
    none: 'account_id sandbox type block oldest newest',
  },
  search_term: { about: 'search terms of emails', kept: '`event_retention`', erased: 'term', none: 'part account_id sandbox message_id' },
  search_part: { about: 'the parts of that table', kept: '`event_retention`', none: 'start part' },
  suppression: {
    about: 'suppressed addresses; of an erased one its HMAC',
    kept: 'until it is removed or expires',
    erased: 'address reason',
    users: 'topic',
    none: 'id account_id origin sandbox source_id created_at expires_at',
  },
  soft_bounce: {
    about: 'counts of soft bounces, and when an address was last called unknown',
    kept: '`event_retention` after the last one',
    erased: 'address',
    none: 'account_id sandbox bounces bounces_before delivered_to changed_at unknown_at unknown_before',
  },
  account_harm: {
    about: 'who hard bounced or complained, for the limits of accounts that do harm; of an erased one its HMAC',
    kept: 'a day',
    erased: 'address',
    none: 'account_id kind happened_at',
  },
  idempotency: {
    about: 'responses to requests with an idempotency key',
    kept: '24 hours',
    erased: 'key response',
    none: 'account_id operation fingerprint status message_id expires_at owner',
  },
  webhook: {
    about: 'webhooks',
    kept: whileUsed,
    users: webhookObject.columns.users,
    none: `${webhookObject.columns.none} id account_id disabled_reason secret previous_secret previous_expires_at signing_key after_seq
      failing_since exhausted created_at updated_at revision`,
  },
  webhook_delivery: {
    about: 'posts to webhooks',
    kept: '`event_retention`',
    erased: 'body',
    none: 'id webhook_id event_id event_type state owner attempts next_attempt_at created_at',
  },
  webhook_attempt: {
    about: 'attempts to post',
    kept: '`event_retention`',
    erased: 'response',
    none: 'id delivery_id number sent_at duration_ms http_status_code error',
  },
  secret_key: { about: 'the key file that sealed the secrets, as a fingerprint', kept: 'for ever', none: 'fingerprint' },
  ticket_key: { about: 'what TLS session tickets are encrypted with, sealed', kept: 'two days', none: 'id key made_at' },
  certificate: { about: 'certificates, with their keys, sealed', kept: 'until they expire', none: 'id authority name chain key made_at' },
  acme: { about: 'accounts at certificate authorities, sealed', kept: 'for ever', none: 'authority account attempts' },
  smarthost: {
    about: 'hosts that relay mail; the passwords sealed',
    kept: whileUsed,
    users: smarthostObject.columns.users,
    none: `${smarthostObject.columns.none} id created_at updated_at revision`,
  },
  smarthost_route: {
    about: 'which mail goes by which of them',
    kept: whileUsed,
    none: `${routeObject.columns.none} id conditions created_at revision`,
  },
  smarthost_token: {
    about: 'logins to the smarthost by OAuth 2; the tokens sealed',
    kept: 'until 30 days after the last fetch with these settings',
    none: 'id tokens serial expires_at fetched_at due_at failures fault refused fetching_until',
  },
  acme_answer: { about: 'proofs for certificate authorities', kept: 'an hour', none: 'token type name key_authorization expires_at' },
  classical_host: { about: 'mail hosts that drop large TLS hellos', kept: 'a week', none: 'id found_at' },
  provider_stop: {
    about: 'groups of destinations that are sent nothing for a while, and the reply that says why, without addresses',
    kept: 'until a day after the stop',
    none: 'id until_at step reason',
  },
  tls_session: {
    about: 'connections to mail hosts, counted by domain for reports on TLS',
    kept: 'until the report is made, for 3 days at most',
    none: 'id day domain policy failure mx_host address source_address reason sessions',
  },
  tls_report: {
    about: 'reports on TLS, sent to the domains that ask for them',
    kept: '`event_retention`',
    none: 'id day domain state due_at first_at tries report destinations sessions failures',
  },
  mta_sts_policy: {
    about: 'MTA-STS policies of recipient domains',
    kept: '180 days after the last mail by one',
    none: 'domain announced_id mode mx max_age_ms fetched_at tried_at fault fault_type used_at fetching_until',
  },
  duty: { about: 'which process does what only one may do', kept: 'always', none: 'name holder' },
  node: {
    about: 'processes that deliver mail and post to webhooks',
    kept: 'until they end',
    none: 'name started_at heard_at beat version machine mode hostname base_url return_path_domain addresses faults changes_seen group_no serves newest_key',
  },
  change_log: { about: 'what nodes tell each other to read anew, by its id', kept: 'until all have read it', none: 'seq kind id' },
  change_order: { about: 'how many changes nodes have told each other', kept: 'for ever', none: 'last' },
  copied: { about: 'which copies the database comes from', kept: 'until their held mail is released', none: 'copied_at is_held by_files' },
  store_copy: {
    about: 'where the database was copied to, to another engine',
    kept: 'until `sterna store reopen`',
    none: 'target copied_at',
  },
  last_place: {
    about: 'files and machine of the last start',
    kept: 'for ever',
    none: 'id lock_file database_file machine addresses seen_at',
  },
  outage: { about: 'when the server was off last', kept: 'until its mail was tried', none: 'missed_ms ended_at answered_at' },
  cursor: { about: 'how far followers of the event log have read', kept: 'for ever', none: 'name position' },
  account_user: {
    about: 'users',
    kept: whileUsed,
    users: 'email',
    none: `id account_id role operator password invitation_digest invitation_expires_at totp_secret totp_step totp_pending created_at
      last_login_at`,
  },
  recovery_code: { about: 'their recovery codes, as digests', kept: whileUsed, none: 'user_id digest' },
  passkey: {
    about: 'public keys of devices that they log in with',
    kept: whileUsed,
    users: 'name',
    none: 'id user_id credential_id public_key counter transports created_at last_used_at',
  },
  setup_link: { about: 'the one-time link for the first user, as a digest', kept: 'until it is used', none: 'name digest created_at' },
  preview: { about: 'HTML, sealed with the key of its link', kept: 'a minute', none: 'id digest holder_id size pictures expires_at html' },
  used_challenge: { about: 'challenges for passkeys that were answered', kept: 'until they expire', none: 'id expires_at' },
  counted_use: { about: 'attempts to log in and the like, whose as a digest', kept: 'up to an hour', none: 'id key expires_at' },
  limit_share: { about: 'parts of limits, also by network', kept: 'a minute', none: 'key node share used frees_at window_ms expires_at' },
  limit_lock: { about: 'locks for limits', kept: whileUsed, none: 'place' },
  user_session: { about: 'logins', kept: '30 days', users: 'address user_agent', none: 'id user_id digest created_at last_seen_at' },
  audit: {
    about: 'who changed what',
    kept: '`event_retention`',
    users: 'actor_name address',
    none: 'id account_id actor_type actor_id operation object_id fields request_id created_at',
  },
  account_policy: { about: 'what accounts and domains have in place of settings', kept: whileUsed, none: 'owner_id field value since' },
  mail_usage: {
    about: 'how many recipients they mailed this day and month',
    kept: whileUsed,
    none: 'owner_id day day_recipients month month_recipients',
  },
  quota_share: { about: 'parts of quotas', kept: whileUsed, none: 'owner_id node day month recipients day_limit month_limit' },
  rate_window: { about: 'times of requests', kept: 'a minute', none: 'account_id first_at gaps' },
  rollup: {
    about: 'counts for analytics',
    kept: 'for ever',
    none: `account_id breakdown span start value domain_id ${countedMetrics.join(' ')}`,
  },
  rollup_latency: {
    about: 'how long deliveries took, as a histogram',
    kept: 'for ever',
    none: `account_id breakdown span start value domain_id ${latencyColumns.join(' ')}`,
  },
  rollup_link: {
    about: 'clicks on the links of templates, without the query and anything unique to a reader',
    kept: '`event_retention`',
    users: 'link',
    none: 'account_id template_id start clicked bot_clicked unique_clicked',
  },
  template: {
    about: 'templates',
    kept: whileUsed,
    users: 'name alias',
    none: 'id account_id draft_version_id live_version_id revision created_at updated_at',
  },
  template_version: {
    about: 'their versions',
    kept: whileUsed,
    users: 'subject html_body text_body header_from reply_to variables layout sent_html sent_text sent_variables published_by',
    none: 'id template_id created_at published_at number',
  },
  template_use: { about: 'which templates contain which', kept: whileUsed, none: 'version_id template_id used_version_id' },
  returned_mail: {
    about: 'returned mail: who delivered it, and what it says',
    kept: '`event_retention`',
    erased: 'reverse_path summary',
    none: `id received_at purpose recipient_id forward_path remote_address ehlo_name tls size content_id state owner due_at retries
      result account_id message_id settled_at network token_account require_tls`,
  },
  returned_mail_content: {
    about: "that mail's content, as received",
    kept: '`content_retention`, less if space is short',
    erased: 'bytes',
    none: 'id box cost',
  },
  notice: { about: 'which notices were sent', kept: '`event_retention`', none: 'recipient_id action message_id due_at notice_message_id' },
  domain_report: {
    about: 'reports on domains (DMARC, TLS)',
    kept: '`event_retention`',
    users: 'contact reverse_path',
    none: 'id kind domain reporter report_id begin_at end_at policy total failed row_count rows_left_out remote_address received_at',
  },
  dmarc_row: {
    about: 'their rows, by host and domain',
    kept: '`event_retention`',
    none: 'report_id place source_ip messages disposition dkim_aligned spf_aligned overrides header_from envelope_from dkim spf signed_here',
  },
  tls_row: {
    about: 'their rows, by host',
    kept: '`event_retention`',
    none: 'report_id place policy_type result_type sessions sending_mta receiving_mx receiving_ip reason',
  },
  erasure: {
    about: 'what was erased, without the address',
    kept: '`event_retention`; the address, sealed, while it is under way',
    erased: 'address',
    none: 'id account_id sandbox counts created_at finished_at owner',
  },
  content_to_erase: { about: 'emails whose content is removed once nobody waits for them', kept: 'until then', none: 'message_id' },
}

/** The names of columns in one of these texts. */
export const columnsIn = (columns: string | undefined): string[] => columns?.split(/\s+/) ?? []
