import type { Breaks } from '../broken.ts';

const ROLE = 'aws:iam/role:Role';
const KEY = 'aws:kms/key:Key';
const REPOSITORY = 'aws:ecr/repository:Repository';

/** How each rule of policies/rules/maintenance.ts is broken, in as many ways as a person would think of. */
export const MAINTENANCE_BREAKS: Breaks = {
  'image-tags-immutable': {
    'tags move': edit =>
      edit.change(REPOSITORY, 'runner', props => {
        props.imageTagMutability = 'MUTABLE';
      }),
  },
  'images-scanned': {
    'nothing is scanned': edit =>
      edit.change(REPOSITORY, 'runner', props => {
        delete props.imageScanningConfiguration;
      }),
  },
  'images-encrypted-with-own-key': {
    'ECR uses its own key': edit =>
      edit.change(REPOSITORY, 'controller', props => {
        props.encryptionConfigurations = [{ encryptionType: 'AES256' }];
      }),
  },
  'keys-rotate': {
    'a key stays as it is': edit =>
      edit.change(KEY, 'artifacts', props => {
        props.enableKeyRotation = false;
      }),
  },
  'log-groups-expire-encrypted': {
    'logs never expire': edit =>
      edit.change('aws:cloudwatch/logGroup:LogGroup', 'flow-log', props => {
        delete props.retentionInDays;
      }),
    'logs are under AWS’s key': edit =>
      edit.change('aws:cloudwatch/logGroup:LogGroup', 'control-plane', props => {
        delete props.kmsKeyId;
      }),
  },
  tagged: {
    'a role has no tags': edit =>
      edit.change(ROLE, 'uploader', props => {
        delete props.tags;
      }),
    'a type that no rule has heard of has no tags': edit => edit.add('aws:sqs/queue:Queue', 'new', { name: 'new' }),
  },
};
