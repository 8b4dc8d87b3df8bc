/**
 * The system calls of arm64: those of 64-bit architectures in `asm-generic/unistd.h` of Linux 6.1, with what arm64 asks for
 * (`arch/arm64/include/uapi/asm/unistd.h`: renameat, clone3, get- and setrlimit, memfd_secret).
 */
export const ARM64_SYSTEM_CALLS: ReadonlySet<string> = new Set(
  `
  accept accept4 acct add_key adjtimex bind bpf brk capget capset chdir chroot clock_adjtime clock_getres clock_gettime
  clock_nanosleep clock_settime clone clone3 close close_range connect copy_file_range delete_module dup dup3 epoll_create1
  epoll_ctl epoll_pwait epoll_pwait2 eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fanotify_init
  fanotify_mark fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr finit_module flistxattr flock fremovexattr fsconfig
  fsetxattr fsmount fsopen fspick fstat fstatfs fsync ftruncate futex futex_waitv get_mempolicy get_robust_list getcpu getcwd
  getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpid getppid getpriority getrandom getresgid getresuid
  getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr init_module inotify_add_watch inotify_init1
  inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit io_uring_enter io_uring_register
  io_uring_setup ioctl ioprio_get ioprio_set kcmp kexec_file_load kexec_load keyctl kill landlock_add_rule landlock_create_ruleset
  landlock_restrict_self lgetxattr linkat listen listxattr llistxattr lookup_dcookie lremovexattr lseek lsetxattr madvise mbind
  membarrier memfd_create memfd_secret migrate_pages mincore mkdirat mknodat mlock mlock2 mlockall mmap mount mount_setattr
  move_mount move_pages mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv
  msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep newfstatat nfsservctl open_by_handle_at open_tree openat
  openat2 perf_event_open personality pidfd_getfd pidfd_open pidfd_send_signal pipe2 pivot_root pkey_alloc pkey_free pkey_mprotect
  ppoll prctl pread64 preadv preadv2 prlimit64 process_madvise process_mrelease process_vm_readv process_vm_writev pselect6 ptrace
  pwrite64 pwritev pwritev2 quotactl quotactl_fd read readahead readlinkat readv reboot recvfrom recvmmsg recvmsg remap_file_pages
  removexattr renameat renameat2 request_key restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
  rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
  sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
  sched_setscheduler sched_yield seccomp semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_mempolicy
  set_mempolicy_home_node set_robust_list set_tid_address setdomainname setfsgid setfsuid setgid setgroups sethostname setitimer
  setns setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt settimeofday setuid setxattr shmat
  shmctl shmdt shmget shutdown sigaltstack signalfd4 socket socketpair splice statfs statx swapoff swapon symlinkat sync
  sync_file_range syncfs sysinfo syslog tee tgkill timer_create timer_delete timer_getoverrun timer_gettime timer_settime
  timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask umount2 uname unlinkat unshare userfaultfd utimensat
  vhangup vmsplice wait4 waitid write writev
`
    .trim()
    .split(/\s+/),
);

/** Calls of 64-bit x86 that arm64 never had, and those that its C library makes in place of them. */
export const INSTEAD_ON_ARM64: Readonly<Record<string, string>> = {
  access: 'faccessat',
  alarm: 'setitimer',
  chmod: 'fchmodat',
  chown: 'fchownat',
  creat: 'openat',
  dup2: 'dup3',
  epoll_create: 'epoll_create1',
  epoll_wait: 'epoll_pwait',
  eventfd: 'eventfd2',
  fork: 'clone',
  futimesat: 'utimensat',
  getdents: 'getdents64',
  getpgrp: 'getpgid',
  inotify_init: 'inotify_init1',
  lchown: 'fchownat',
  link: 'linkat',
  lstat: 'newfstatat',
  mkdir: 'mkdirat',
  mknod: 'mknodat',
  open: 'openat',
  pause: 'ppoll',
  pipe: 'pipe2',
  poll: 'ppoll',
  readlink: 'readlinkat',
  rename: 'renameat',
  rmdir: 'unlinkat',
  select: 'pselect6',
  signalfd: 'signalfd4',
  stat: 'newfstatat',
  symlink: 'symlinkat',
  time: 'gettimeofday',
  unlink: 'unlinkat',
  utime: 'utimensat',
  utimes: 'utimensat',
  vfork: 'clone',
};

/** Calls that have no counterpart: of x86's segments and first kernels, and of 32-bit programs, which neither node runs as browsers. */
export const NOT_OF_ARM64: ReadonlySet<string> = new Set(
  `
  arch_prctl modify_ldt get_thread_area set_thread_area epoll_ctl_old epoll_wait_old
  _llseek _newselect chown32 clock_adjtime64 clock_getres_time64 clock_gettime64 clock_nanosleep_time64 fadvise64_64 fchown32 fcntl64
  fstat64 fstatat64 fstatfs64 ftruncate64 futex_time64 getegid32 geteuid32 getgid32 getgroups32 getresgid32 getresuid32 getuid32
  io_pgetevents_time64 ipc lchown32 lstat64 mmap2 mq_timedreceive_time64 mq_timedsend_time64 ppoll_time64 pselect6_time64 recv
  recvmmsg_time64 rt_sigtimedwait_time64 sched_rr_get_interval_time64 semtimedop_time64 send sendfile64 setfsgid32 setfsuid32 setgid32
  setgroups32 setregid32 setresgid32 setresuid32 setreuid32 setuid32 sigprocmask sigreturn socketcall stat64 statfs64 timer_gettime64
  timer_settime64 timerfd_gettime64 timerfd_settime64 truncate64 ugetrlimit utimensat_time64 waitpid
`
    .trim()
    .split(/\s+/),
);
