/**
 * The account of the server's own mail: notices, reports, and mail passed on to the operator. It is in the database from the start, and
 * no list, key, user or request can refer to it.
 */
export const systemAccountId = 'acc_00000000000000000000000000'
